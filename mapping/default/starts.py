"""
Starts of a mapping for few hops: the best of several starts on a graph with few vertices per core.

A single start sometimes gives a mapping that is twisted over the mesh, which refinement cannot repair. On a graph of
this size a start takes a fraction of a second.
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
"""Largest number of edges that are visited for the start from a small cut, which scans the edges of every vertex."""

_HOT, _COLD = 1.0, 0.03
"""First and last temperature; the first is high enough to destroy the previous mapping."""

_MILD = 0.8
"""First temperature for good starts, which keeps most of the mapping."""


@dataclass(frozen=True)
class Start:
    """A start of the mapping of a graph."""

    graph: Graph
    bisected: Array
    """[n] core of each vertex by bisecting graph and mesh together."""
    core_of: Array
    """[n] the best mapping so far."""
    cost: int
    """Its hop cost."""


def first_start(graph: Graph, target: Target, state: Array, schedule: Schedule) -> Start:
    """The start by bisecting graph and mesh together, then annealing from a high temperature."""
    bisected = dual_bisection(graph, target, state)
    core_of = bisected.copy()
    sweeps, limits = schedule.start.sweeps_of(graph), schedule.merged_limits(graph, target.capacity)
    anneal(graph, core_of, target, state, Cooling(_HOT, _COLD, sweeps), limits=limits)
    return Start(graph, bisected, core_of, hop_total(graph, core_of, target.mesh))


def best_starts(start: Start, target: Target, state: Array, schedule: Schedule) -> list[Array]:
    """
    The best mappings ([n] int32, core of each vertex), best first: `schedule.kept` of those of `start` and of other
    starts on its graph.
    """
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
