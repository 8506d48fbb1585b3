"""
Mapping for little multicast traffic, on the hypergraph of sources and targets.

Moving a single vertex seldom changes the cores that a source reaches; moving a cluster of vertices with the same
sources does. A cycle therefore starts from the mapping for few hops, merges vertices that share sources and a core,
anneals the clusters, and anneals on every level during uncoarsening. A second start first partitions the network for
small net spans regardless of positions, from clusters that are independent of any mapping, annealed at a high
temperature; then it places the parts on the cores. The better start continues with cycles at lower temperatures, first
of large clusters, then of small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph
from ..method import Effort
from .multicast_anneal import Distances, anneal_multicast, apart, delivered_traffic, hop_distances, traffic_between
from .nets import Nets, merge_nets, shared_nets
from .parts_first import place_parts
from .target import Cooling, Target

MAX_COUNTS = 1 << 27
"""Largest number of pairs of net and core for the table of counts; larger networks keep the mapping for few hops."""


@dataclass(frozen=True)
class Cycle:
    """One cycle: the size of its clusters, and acceptance rates of worse proposals (see `anneal_multicast`)."""

    parts_of_capacity: int
    """The capacity of a core divided by the largest size of a cluster."""
    hot: float
    """Share of worse proposals that is accepted at first, for clusters."""
    warm: float
    """The same for the finer levels."""


@dataclass(frozen=True)
class Cycles:
    """The work of an effort: sweeps are proposals per vertex, fewer on large networks (see `SizedNets.sweeps`)."""

    first: Cycle
    """The cycle that starts from the mapping for few hops."""
    parts: tuple[Cycle, ...]
    """The cycles for a partition with small net spans, the first one from new clusters; empty for no second start."""
    following: tuple[Cycle, ...]
    """The cycles that start from the best mapping so far."""
    coarse_sweeps: float
    coarse_work: float
    fine_sweeps: float
    fine_work: float


_PARTS = (Cycle(8, 0.4, 0.15), Cycle(15, 0.1, 0.05))
_FOLLOWING = (Cycle(4, 0.1, 0.05), Cycle(8, 0.1, 0.05), Cycle(15, 0.05, 0.02), Cycle(30, 0.05, 0.02))

CYCLES = {
    Effort.FAST: Cycles(Cycle(15, 0.1, 0.05), (), (), 100, 3e6, 20, 3e6),
    Effort.NORMAL: Cycles(Cycle(8, 0.3, 0.1), _PARTS, _FOLLOWING, 500, 1e7, 100, 3e6),
    Effort.HIGH: Cycles(Cycle(8, 0.3, 0.1), _PARTS, _FOLLOWING * 2, 2000, 1e8, 400, 5e7),
}

PLACED = Cycle(15, 0.1, 0.05)
"""The cycle after the placement of parts, hot enough to move vertices between neighbouring parts."""

COLD = 0.002
"""Share of worse proposals that is accepted at the end of every annealing."""


def refine_multicast(nets: Nets, graph: Graph, core_of: Array, target: Target, state: Array, cycles: Cycles) -> Array:
    """Core of each vertex ([n] int32), from a mapping `core_of` within the capacity; `graph` is the same network."""
    if nets.count * target.mesh.cores > MAX_COUNTS:
        return core_of
    hops = hop_distances(target.mesh)

    vertices = SizedNets(nets, graph.size)

    def cycled(start: Array, cycle: Cycle, distances: Distances) -> Array:
        return _cycled(vertices, start, distances, target, state, cycle, cycles)

    def traffic(mapping: Array) -> int:
        return delivered_traffic(nets, mapping, target.mesh)

    found = [core_of, cycled(core_of, cycles.first, hops)]
    if cycles.parts:
        parts = _from_clusters(nets, graph, core_of, target, state, cycles)
        for cycle in cycles.parts[1:]:
            parts = cycled(parts, cycle, apart(target.mesh.cores))
        placed = place_parts(parts, traffic_between(nets, parts, target.mesh.cores), target, state)
        found.append(cycled(placed, PLACED, hops))
    best = min(found, key=traffic)
    for cycle in cycles.following:
        best = min(best, cycled(best, cycle, hops), key=traffic)
    return best


@dataclass(frozen=True)
class SizedNets:
    """The nets of a graph's vertices, or of clusters of these, and their sizes."""

    nets: Nets
    size: Array
    """[n] int64"""

    def sweeps(self, sweeps: float, work: float) -> float:
        """
        `sweeps`, or as many as `work` proposals amount to, where a fiftieth of the pins counts in addition to the
        vertices; at least 10.
        """
        return max(10.0, min(sweeps, work / (self.size.size + 0.02 * self.nets.pins.size)))

    def merged(self, coarse_of: Array, count: int) -> SizedNets:
        """The nets of `count` clusters; `coarse_of` [n]: the cluster of each vertex."""
        size = np.bincount(coarse_of, self.size, count).astype(np.int64)
        return SizedNets(merge_nets(self.nets, coarse_of, count), size)


def _cycled(
    vertices: SizedNets,
    core_of: Array,
    distances: Distances,
    target: Target,
    state: Array,
    cycle: Cycle,
    cycles: Cycles,
) -> Array:
    """
    Merge vertices that share nets and a core, anneal the clusters, then every level during uncoarsening. Returns the
    core of each vertex.
    """
    limit = max(1, target.capacity // cycle.parts_of_capacity)
    levels, coarse, core_of = _coarsened(vertices, core_of, limit, state, by_core=True)
    cooling = Cooling(cycle.hot, COLD, coarse.sweeps(cycles.coarse_sweeps, cycles.coarse_work))
    anneal_multicast(coarse.nets, coarse.size, core_of, distances, target, state, cooling)
    for finer, coarse_of in reversed(levels):
        core_of = core_of[coarse_of]
        cooling = Cooling(cycle.warm, COLD, finer.sweeps(cycles.fine_sweeps, cycles.fine_work))
        anneal_multicast(finer.nets, finer.size, core_of, distances, target, state, cooling)
    return core_of


def _from_clusters(nets: Nets, graph: Graph, core_of: Array, target: Target, state: Array, cycles: Cycles) -> Array:
    """
    A partition ([n] int32, parts are numbered as the target's cores) with small net spans: as `_cycled`, but any
    vertices that share nets are merged. Cores over their capacity are corrected level by level; `core_of` is only the
    start of the annealing.
    """
    cycle, distances = cycles.parts[0], apart(target.mesh.cores)
    limit = max(1, target.capacity // cycle.parts_of_capacity)
    levels, coarse, core_of = _coarsened(SizedNets(nets, graph.size), core_of, limit, state, by_core=False)

    def annealed(vertices: SizedNets, hot: float, sweeps: float) -> None:
        fitted = target.fitted_merged(_edgeless(vertices.size), core_of)
        anneal_multicast(vertices.nets, vertices.size, core_of, distances, fitted, state, Cooling(hot, COLD, sweeps))

    annealed(coarse, cycle.hot, coarse.sweeps(cycles.coarse_sweeps, cycles.coarse_work))
    for finer, coarse_of in reversed(levels):
        core_of = core_of[coarse_of]
        annealed(finer, cycle.warm, finer.sweeps(cycles.fine_sweeps, cycles.fine_work))
    target.fit(graph, core_of)
    return core_of


def _coarsened(
    vertices: SizedNets, core_of: Array, limit: int, state: Array, by_core: bool
) -> tuple[list[tuple[SizedNets, Array]], SizedNets, Array]:
    """
    Merge vertices that share nets to clusters of size `limit` at most; with `by_core`, only vertices of one core.

    Returns the levels, finest first, as (vertices, cluster of each vertex), and the clusters with their cores.
    """
    levels: list[tuple[SizedNets, Array]] = []
    while True:
        nets, size = vertices.nets, vertices.size
        coarse_of, count = shared_nets(nets, size, limit, state, within=core_of if by_core else None)
        if count > 0.9 * size.size:
            return levels, vertices, core_of.copy()
        levels.append((vertices, coarse_of))
        vertices = vertices.merged(coarse_of, count)
        core_of = _of_merged(core_of, coarse_of, count)


def _of_merged(core_of: Array, coarse_of: Array, count: int) -> Array:
    """The core of each merged vertex: that of one of its vertices."""
    merged = np.zeros(count, np.int32)
    merged[coarse_of] = core_of
    return merged


def _edgeless(size: Array) -> Graph:
    """A graph without edges, which only holds the sizes."""
    return Graph(np.zeros(size.size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64), size)
