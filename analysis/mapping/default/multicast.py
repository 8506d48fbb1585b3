"""
Mapping for little multicast traffic, over the hypergraph of sources and targets.

A single vertex seldom changes what cores a source reaches, a cluster of vertices with the same sources does. From the
mapping for few hops, cycles therefore merge vertices that share sources and a core, anneal the clusters, and anneal on
every level on the way back; each cycle has smaller clusters and starts cooler. A second start first makes parts whose
nets span few of them, wherever they are, then puts the parts on the cores; the better one goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....support.jit import Array
from ..kernels.graph import Graph
from ..mapping import Effort
from ..mesh import Mesh
from .multicast_anneal import Distances, anneal_multicast, apart, delivered_traffic, hop_distances, traffic_between
from .nets import Nets, merge_nets, shared_nets
from .parts_first import place_parts

MAX_COUNTS = 1 << 27
"""Above so many pairs of net and core, the counts would take too much memory: the mapping for few hops stays."""


@dataclass(frozen=True)
class Cycle:
    """One cycle: what fraction of a core its clusters hold at most, from what temperature they are annealed."""

    parts_of_capacity: int
    hot: float


@dataclass(frozen=True)
class Cycles:
    """How much work an effort is: sweeps are proposals per vertex."""

    first: Cycle
    """From the mapping for few hops."""
    parts: tuple[Cycle, ...]
    """On the parts that nets span: none if there is to be no second start."""
    following: tuple[Cycle, ...]
    """From the best start."""
    coarse_sweeps: float
    fine_sweeps: float
    fine_work: float
    """Sweeps are the fewer on large networks, see `_sweeps`."""


CYCLES = {
    Effort.FAST: Cycles(Cycle(15, 0.5), (), (), 100, 20, 3e6),
    Effort.NORMAL: Cycles(
        Cycle(8, 1.5), (Cycle(8, 1.0), Cycle(15, 0.3)), (Cycle(15, 0.2), Cycle(30, 0.1)), 1000, 60, 5e6
    ),
    Effort.HIGH: Cycles(
        Cycle(8, 1.5),
        (Cycle(8, 1.0), Cycle(15, 0.3), Cycle(30, 0.2)),
        (Cycle(8, 0.2), Cycle(15, 0.2), Cycle(30, 0.1), Cycle(60, 0.1)),
        4000,
        200,
        5e7,
    ),
}

PLACED = Cycle(8, 0.2)
"""The cycle after parts were put on the cores: warm enough to move what lies between two of them."""

WARM, COLD = 0.03, 0.002
"""Temperatures: of the levels on the way back, at the end."""


def refine_multicast(
    nets: Nets, graph: Graph, core_of: Array, mesh: Mesh, cores: Array, capacity: int, state: Array, cycles: Cycles
) -> Array:
    """Core of each vertex ([n] int32), from a mapping `core_of` within the capacity; `graph` is the same network."""
    if nets.count * mesh.cores > MAX_COUNTS:
        return core_of
    hops = hop_distances(mesh)

    def cycled(start: Array, cycle: Cycle, distances: Distances) -> Array:
        return _cycled(nets, graph.size, start, distances, cores, capacity, state, cycle, cycles)

    found = [cycled(core_of, cycles.first, hops)]
    if cycles.parts:
        parts = core_of
        for cycle in cycles.parts:
            parts = cycled(parts, cycle, apart(mesh.cores))
        placed = place_parts(parts, traffic_between(nets, parts, mesh.cores), mesh, cores, state)
        found.append(cycled(placed, PLACED, hops))
    best = min(found, key=lambda mapping: delivered_traffic(nets, mapping, mesh))
    for cycle in cycles.following:
        best = cycled(best, cycle, hops)
    return min(best, core_of, key=lambda mapping: delivered_traffic(nets, mapping, mesh))


def _cycled(
    nets: Nets,
    size: Array,
    core_of: Array,
    distances: Distances,
    cores: Array,
    capacity: int,
    state: Array,
    cycle: Cycle,
    cycles: Cycles,
) -> Array:
    """Merge vertices that share nets and a core, anneal the clusters, then every level on the way back."""
    levels: list[tuple[Nets, Array, Array]] = []
    while True:
        limit = max(1, capacity // cycle.parts_of_capacity)
        coarse_of, count = shared_nets(nets, size, limit, state, within=core_of)
        if count > 0.9 * size.size:
            break
        levels.append((nets, size, coarse_of))
        nets = merge_nets(nets, coarse_of, count)
        size = np.bincount(coarse_of, size, count).astype(np.int64)
        merged = np.zeros(count, np.int32)
        merged[coarse_of] = core_of
        core_of = merged
    core_of = core_of.copy()
    sweeps = _sweeps(nets, size, cycles.coarse_sweeps, 10 * cycles.fine_work)
    anneal_multicast(nets, size, core_of, distances, cores, capacity, state, hot=cycle.hot, cold=COLD, sweeps=sweeps)
    for finer, size, coarse_of in reversed(levels):
        core_of = core_of[coarse_of]
        sweeps = _sweeps(finer, size, cycles.fine_sweeps, cycles.fine_work)
        anneal_multicast(finer, size, core_of, distances, cores, capacity, state, hot=WARM, cold=COLD, sweeps=sweeps)
    return core_of


def _sweeps(nets: Nets, size: Array, sweeps: float, work: float) -> float:
    """`sweeps`, or as many as `work` proposals are (a fiftieth of the pins counts too), but at least 10."""
    return max(10.0, min(sweeps, work / (size.size + 0.02 * nets.pins.size)))
