"""The graphs that a mapping for few hops goes through, from the network to some thousand merged vertices."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from ....support.jit import Array
from ..kernels.graph import Graph
from ..mapping import Watch
from .alike import alike
from .cluster import clusters
from .coarsen import Merging, coarsen

MERGINGS: dict[str, Merging] = {"tied": clusters, "alike": alike}
"""Ways of merging: which one is right depends on the network, and shows only when a start was made from each."""

PARTS_OF_CAPACITY = 60
"""Merged vertices hold at most this fraction of a core: small enough for the merged graph to be a good likeness."""

START_PARTS_OF_CAPACITY = 30
"""The same for the graph that starts are tried on."""

_FAR = 8
"""If merged vertices are so many times as large as the network's, there is a level between the two."""

_MAX_ENTRIES_BETWEEN = 40_000_000
"""Networks with more entries (two an edge) get no level between, for the sake of memory."""


@dataclass(frozen=True)
class Level:
    """A merged graph."""

    merged: list[Array]
    """From the graph one level finer: merged vertex of each vertex, step by step."""
    graph: Graph


def hierarchy(graph: Graph, capacity: int, state: Array, name: str, watch: Watch) -> list[Level]:
    """
    The levels above `graph`, from the finest; the last is there for the starts and may be the graph itself.

    Merged in the way called `name`. What an earlier run kept is taken from there, with the state of the random numbers.
    """
    limit = max(1, capacity // PARTS_OF_CAPACITY)
    mean_size = max(1, int(graph.size.sum()) // graph.vertices)
    limits = [limit, max(1, capacity // START_PARTS_OF_CAPACITY)]
    if limit >= _FAR * mean_size and graph.indices.size <= _MAX_ENTRIES_BETWEEN:
        limits.insert(0, isqrt(limit * mean_size))
    levels: list[Level] = []
    for number, size_limit in enumerate(limits):
        level = _merged_or_restored(graph, size_limit, state, f"coarsen-{name}-{number}", MERGINGS[name], watch)
        if level.merged:
            levels.append(level)
            graph = level.graph
        elif number == len(limits) - 1:
            # What merges nothing is no level, but there is a last one: it is what starts are tried on.
            levels.append(Level([], graph))
    return levels


def _merged_or_restored(
    graph: Graph, size_limit: int, state: Array, step: str, merging: Merging, watch: Watch
) -> Level:
    kept = watch.checkpoints.restore(step)
    if kept is not None:
        state[:] = kept["state"]
        coarse = Graph(kept["indptr"], kept["indices"], kept["data"], kept["size"])
        return Level([kept[f"level-{number}"] for number in range(int(kept["levels"][0]))], coarse)
    merged, coarse = coarsen(graph, size_limit, state, merging)
    arrays = {"indptr": coarse.indptr, "indices": coarse.indices, "data": coarse.data, "size": coarse.size}
    numbered = {f"level-{number}": level for number, level in enumerate(merged)}
    watch.checkpoints.save(step, {**arrays, **numbered, "levels": np.array([len(merged)]), "state": state})
    return Level(merged, coarse)
