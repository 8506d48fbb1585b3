"""
Mapping for little multicast traffic, over the hypergraph of sources and targets.

A single vertex seldom changes what cores a source reaches, a cluster of vertices with the same sources does. From the
mapping for few hops, cycles therefore merge vertices that share sources and a core, anneal the clusters, and anneal on
every level on the way back; each cycle has smaller clusters and starts cooler.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.graph import Graph
from ..kernels.jit import Array
from ..mapping import Effort
from ..mesh import Mesh
from .multicast_anneal import anneal_multicast
from .nets import Nets, merge_nets, shared_nets

MAX_COUNTS = 1 << 27
"""Above so many pairs of net and core, the counts would take too much memory: the mapping for few hops stays."""


@dataclass(frozen=True)
class Cycles:
    """How much work an effort is: sweeps are proposals per vertex."""

    parts_of_capacity: tuple[int, ...]
    """For each cycle, what fraction of a core its clusters hold at most."""
    coarse_sweeps: float
    fine_sweeps: float


CYCLES = {
    Effort.FAST: Cycles((15,), 100, 20),
    Effort.NORMAL: Cycles((8, 15, 30), 300, 60),
    Effort.HIGH: Cycles((8, 15, 30, 60), 1000, 200),
}

HOT, WARM, COLD = 0.5, 0.03, 0.002
"""Temperatures: of the first cycle's clusters, of the levels on the way back, at the end."""


def refine_multicast(
    nets: Nets, graph: Graph, core_of: Array, mesh: Mesh, cores: Array, capacity: int, state: Array, cycles: Cycles
) -> Array:
    """Core of each vertex ([n] int32), from a mapping `core_of` within the capacity; `graph` is the same network."""
    if nets.count * mesh.cores > MAX_COUNTS:
        return core_of
    for cycle, parts in enumerate(cycles.parts_of_capacity):
        levels: list[tuple[Nets, Array, Array]] = []
        coarse, size, placed = nets, graph.size, core_of
        while True:
            coarse_of, count = shared_nets(coarse, size, max(1, capacity // parts), state, within=placed)
            if count > 0.9 * size.size:
                break
            levels.append((coarse, size, coarse_of))
            coarse = merge_nets(coarse, coarse_of, count)
            size = np.bincount(coarse_of, size, count).astype(np.int64)
            merged = np.zeros(count, np.int32)
            merged[coarse_of] = placed
            placed = merged
        placed = placed.copy()
        hot = HOT / (1 + cycle)
        anneal_multicast(
            coarse,
            size,
            placed,
            mesh,
            cores,
            capacity,
            state,
            hot=hot,
            cold=COLD,
            sweeps=cycles.coarse_sweeps,
        )
        for finer, size, coarse_of in reversed(levels):
            placed = placed[coarse_of]
            anneal_multicast(
                finer, size, placed, mesh, cores, capacity, state, hot=WARM, cold=COLD, sweeps=cycles.fine_sweeps
            )
        core_of = placed
    return core_of
