"""The hierarchy of coarsened graphs for mapping by hops, from the network to some thousand vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, merge_steps
from ..method import Watch
from .alike import alike
from .cluster import clusters
from .coarsen import Coarsening, Merging

MERGINGS: dict[str, Merging] = {"tied": clusters, "alike": alike}
"""Coarsening methods. Which one suits a network best is known only after a start with each of them."""

PARTS_OF_CAPACITY = 60
"""
The capacity of a core divided by the largest size of merged vertices; large enough that the coarse graph represents the
network well.
"""

START_PARTS_OF_CAPACITY = 30
"""The same for the coarsest graph, on which starts are tried."""

_FAR = 8
"""If merged vertices are at least this many times as large as the network's, there is a level between the two."""

_MAX_ENTRIES_BETWEEN = 40_000_000
"""Networks with more entries (two per edge) get no level between, to save memory."""


@dataclass(frozen=True)
class Hierarchy:
    """
    The levels of coarsening of a network. The graphs of the levels are rebuilt when needed: together they take as much
    memory as the network, or more.
    """

    network: Graph
    levels: list[list[Array]]
    """Levels, finest first: the merged vertex of each vertex of the graph one level finer, step by step."""
    extents: list[tuple[int, int]]
    """Numbers of vertices and of entries of the graph of each level."""

    def finer(self, level: int) -> Graph:
        """The graph one level finer than `level`: the network itself for level 0."""
        return merge_steps(self.network, [step for steps in self.levels[:level] for step in steps])


Merged = tuple[Hierarchy, Graph]
"""(the levels of a network, the graph of the last level, which may be the network itself)"""


def hierarchy(graph: Graph, capacity: int, state: Array, name: str, watch: Watch) -> Merged:
    """
    `graph` coarsened by the method `name`. If an earlier run left a checkpoint, the result and the state of the random
    numbers are restored from it.
    """
    merged = _merged_unless_worse(graph, capacity, state, name, watch, [])
    assert merged is not None
    return merged


def hierarchies(graph: Graph, capacity: int, state: Array, names: Sequence[str], watch: Watch) -> list[Merged]:
    """
    `graph` coarsened by each of the methods `names`. A method that gives both more vertices and more edges on some
    level than an earlier method merges unrelated vertices; it is stopped and left out.
    """
    found: list[Merged] = []
    for name in names:
        rivals = [levels for levels, _ in found]
        if (merged := _merged_unless_worse(graph, capacity, state, name, watch, rivals)) is not None:
            found.append(merged)
    return found


def _merged_unless_worse(
    graph: Graph, capacity: int, state: Array, name: str, watch: Watch, rivals: list[Hierarchy]
) -> Merged | None:
    """`graph` coarsened; None as soon as a level has more vertices and more edges than the same level of a rival."""
    limit = max(1, capacity // PARTS_OF_CAPACITY)
    mean_size = max(1, int(graph.size.sum()) // graph.vertices)
    limits = [limit, max(1, capacity // START_PARTS_OF_CAPACITY)]
    if limit >= _FAR * mean_size and graph.indices.size <= _MAX_ENTRIES_BETWEEN:
        limits.insert(0, isqrt(limit * mean_size))
    coarsening = Coarsening(graph)
    levels: list[list[Array]] = []
    extents: list[tuple[int, int]] = []
    for number, size_limit in enumerate(limits):
        steps = _merged_or_restored(coarsening, size_limit, state, f"coarsen-{name}-{number}", MERGINGS[name], watch)
        # A step that merges nothing adds no level, except for the last level, which the starts need.
        if steps or number == len(limits) - 1:
            levels.append(steps)
            extents.append((coarsening.graph.vertices, coarsening.graph.indices.size))
            if any(_exceeds(extents, rival.extents) for rival in rivals):
                return None
    return Hierarchy(graph, levels, extents), coarsening.graph


def _exceeds(extents: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Whether the last of `extents` exceeds the same level of `others` in both numbers."""
    if len(extents) > len(others):
        return False
    (vertices, entries), (fewer_vertices, fewer_entries) = extents[-1], others[len(extents) - 1]
    return vertices > fewer_vertices and entries > fewer_entries


def _merged_or_restored(
    coarsening: Coarsening, size_limit: int, state: Array, step: str, merging: Merging, watch: Watch
) -> list[Array]:
    kept = watch.checkpoints.restore(step)
    if kept is not None:
        state[:] = kept["state"]
        merged = [kept[f"level-{number}"] for number in range(int(kept["levels"][0]))]
        coarsening.restore(merged, Graph(kept["indptr"], kept["indices"], kept["data"], kept["size"]))
        return merged
    merged = coarsening.merge(size_limit, state, merging)
    coarse = coarsening.graph
    arrays = {"indptr": coarse.indptr, "indices": coarse.indices, "data": coarse.data, "size": coarse.size}
    numbered = {f"level-{number}": level for number, level in enumerate(merged)}
    watch.checkpoints.save(step, {**arrays, **numbered, "levels": np.array([len(merged)]), "state": state})
    return merged
