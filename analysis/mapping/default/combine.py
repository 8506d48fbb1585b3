"""
What several mappings agree on goes on as a whole: one more way down and up, from the best of them.

Vertices that every mapping keeps together, on whatever core, may be merged; those that one of them parts stay apart
(as the combine operator of KaFFPaE does it: Sanders and Schulz 2012). Merged like that, the best mapping is one of the
merged graph too, at the same cost, and annealing moves what it could not move vertex by vertex.
"""

from __future__ import annotations

import numpy as np

from ....support.jit import Array
from ..kernels.capacity import fit_merged
from ..kernels.graph import Graph, merge_vertices
from ..mesh import Mesh
from .anneal import anneal
from .coarsen import Merging
from .schedule import Work

_STEPS = ((60, 0.4), (15, 0.6))
"""From the finest: (merged vertices hold at most this fraction of a core, temperature that their graph starts at)."""

_COLD = 0.01


def combined(
    graph: Graph,
    found: list[Array],
    merging: Merging,
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    work: Work,
) -> Array:
    """Core of each vertex ([n] int32), from mappings `found`, best first; cores may be overfull by a merged vertex."""
    core_of, together = found[0], agreed(found)
    levels: list[tuple[Array, Graph, float]] = []
    for parts, hot in _STEPS:
        merged_of, _ = merging(graph, max(1, capacity // parts), state)
        first, merged_of = _numbered(merged_of, together)
        if first.size > 0.95 * graph.vertices:
            continue
        graph = merge_vertices(graph, merged_of, first.size)
        levels.append((merged_of, graph, hot))
        core_of, together = core_of[first], together[first]
    for merged_of, coarse, hot in reversed(levels):
        room = fit_merged(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = work.sweeps_of(coarse)
        anneal(coarse, core_of, mesh, cores, room, state, hot=hot, cold=_COLD, sweeps=sweeps)
        core_of = core_of[merged_of]
    return core_of


def agreed(found: list[Array]) -> Array:
    """[n] int32: equal for vertices that are on one core in every mapping."""
    together = np.zeros_like(found[0])
    for core_of in found:
        _, together = _numbered(together, core_of)
    return together


def _numbered(one: Array, other: Array) -> tuple[Array, Array]:
    """(first place of each pair that occurs, number of the pair of each vertex, int32)"""
    pairs = one.astype(np.int64) * (int(other.max()) + 1) + other
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    return first, number.astype(np.int32)
