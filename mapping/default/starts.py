"""
Start of a mapping by hops: the best of several, tried on a graph with few vertices per core.

A single start sometimes ends with the network twisted over the mesh, which refinement cannot repair. On a graph of this
size a start takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...support.jit import Array
from ..kernels.graph import Graph
from .anneal import anneal
from .dual import dual_bisection
from .hop_table import hop_total
from .parts_first import parts_first
from .schedule import Schedule
from .target import Cooling, Target

_PARTS_SCANNED = 1e8
"""So many edges are looked at for the start from parts of a small cut, which scans the edges of every vertex."""

_HOT, _COLD = 1.0, 0.03
"""Hot enough to forget the previous mapping."""

_MILD = 0.8
"""Keeps most of the mapping: for good starts."""


@dataclass(frozen=True)
class Start:
    """A start on a graph."""

    graph: Graph
    bisected: Array
    """[n] core of each vertex by cutting graph and mesh together."""
    core_of: Array
    """[n] the best mapping so far."""
    cost: int
    """Its hop cost."""


def first_start(graph: Graph, target: Target, state: Array, schedule: Schedule) -> Start:
    """Graph and mesh cut together, then annealed hot."""
    bisected = dual_bisection(graph, target, state)
    core_of = bisected.copy()
    sweeps, limits = schedule.start.sweeps_of(graph), schedule.merged_limits(graph, target.capacity)
    anneal(graph, core_of, target, state, Cooling(_HOT, _COLD, sweeps), limits=limits)
    return Start(graph, bisected, core_of, hop_total(graph, core_of, target.mesh))


def best_starts(start: Start, target: Target, state: Array, schedule: Schedule) -> list[Array]:
    """Cores of the vertices ([n] int32), best first: the `schedule.kept` best of `start` and others on its graph."""
    graph = start.graph
    sweeps, limits = schedule.start.sweeps_of(graph), schedule.merged_limits(graph, target.capacity)
    scans = min(sweeps, _PARTS_SCANNED / max(1, graph.indices.size))
    from_parts = parts_first(graph, start.bisected, target, state, scans)
    tries = [(from_parts, _MILD)]
    if not schedule.start.bounds(graph):
        tries += [(start.bisected, _HOT)] * (schedule.starts - 1) + [(start.bisected, _MILD)]
    found = [start.core_of]
    for begin, hot in tries:
        core_of = begin.copy()
        anneal(graph, core_of, target, state, Cooling(hot, _COLD, sweeps), limits=limits)
        found.append(core_of)
    return sorted(found, key=lambda core_of: hop_total(graph, core_of, target.mesh))[: schedule.kept]
