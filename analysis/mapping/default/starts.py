"""
Where a mapping for few hops starts from: the best of several, each tried on a graph of few vertices a core.

A single start sometimes ends with the network twisted over the mesh, which no later refinement gets out of. On a graph
this small a start costs a fraction of a second.
"""

from __future__ import annotations

from ....support.jit import Array
from ..kernels.capacity import fit_merged
from ..kernels.graph import Graph
from ..mesh import Mesh
from .anneal import anneal
from .coarsen import coarsen, undo
from .dual import dual_bisection
from .hop_table import hop_total
from .parts_first import parts_first
from .schedule import Schedule

_PARTS_OF_CAPACITY = 30
"""Merged vertices hold at most this fraction of a core."""

_PARTS_SCANNED = 2e8
"""So many edges are looked at for the start from parts of a small cut, which scans the edges of every vertex."""

_HOT, _COLD = 3.0, 0.01
"""Hot enough to make the mapping anew, whatever it was before."""

_MILD = 0.8
"""Keeps most of what is there: for starts that are good by themselves."""


def best_start(graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, schedule: Schedule) -> Array:
    """Core of each vertex ([n] int32), of `cores`; cores may be overfull by less than a merged vertex."""
    levels, small = coarsen(graph, max(1, capacity // _PARTS_OF_CAPACITY), state)
    bisected = dual_bisection(small, mesh, cores, capacity, state)
    room = fit_merged(small, bisected, mesh.x, mesh.y, cores, capacity)
    sweeps = schedule.start.sweeps_of(small)
    hot_starts = schedule.starts if sweeps == schedule.start.sweeps else 1
    scans = min(sweeps, _PARTS_SCANNED / max(1, small.indices.size))
    from_parts = parts_first(small, bisected, mesh, cores, room, state, sweeps=scans)
    tries = [(bisected, _HOT)] * hot_starts + [(bisected, _MILD), (from_parts, _MILD)]
    found: list[Array] = []
    for start, hot in tries:
        core_of = start.copy()
        anneal(small, core_of, mesh, cores, room, state, hot=hot, cold=_COLD, sweeps=sweeps)
        found.append(core_of)
    return undo(levels, min(found, key=lambda core_of: hop_total(small, core_of, mesh)))
