"""Mapping for few hops: merge, cut graph and mesh together, anneal the merged graph, anneal the graph itself."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.capacity import fit
from ..kernels.graph import Graph, merge_vertices
from ..kernels.jit import Array
from ..mapping import Effort, Watch
from ..mesh import Mesh
from .anneal import anneal
from .cluster import heavy_pairs
from .dual import dual_bisection


@dataclass(frozen=True)
class Schedule:
    """How much work an effort is: sweeps are proposals per vertex."""

    coarse_sweeps: float
    fine_sweeps: float


SCHEDULES = {
    Effort.FAST: Schedule(100, 30),
    Effort.NORMAL: Schedule(600, 200),
    Effort.HIGH: Schedule(3000, 1000),
}

PARTS_OF_CAPACITY = 60
"""Merged vertices hold at most this fraction of a core: small enough for the merged graph to be a good likeness."""


def coarsen(graph: Graph, size_limit: int, state: Array) -> list[tuple[Graph, Array]]:
    """Levels (graph, coarse vertex of each of its vertices), finest first, and the coarsest graph with no merge."""
    levels: list[tuple[Graph, Array]] = []
    while True:
        coarse_of, count = heavy_pairs(graph, size_limit, state)
        levels.append((graph, coarse_of))
        if count > 0.9 * graph.vertices:
            return levels
        graph = merge_vertices(graph, coarse_of, count)


def map_hops(
    graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, effort: Effort, watch: Watch
) -> Array:
    """Core of each vertex ([n] int32), of `cores`."""
    schedule = SCHEDULES[effort]
    with watch.step("coarsen"):
        *levels, (coarse, _) = coarsen(graph, max(1, capacity // PARTS_OF_CAPACITY), state)
    with watch.step("bisect"):
        core_of = dual_bisection(coarse, mesh, cores, capacity, state)
    with watch.step("anneal coarse"):
        # Merged vertices are bulky; what is too much is put right on the graph itself.
        room = capacity + int(coarse.size.max()) if levels else capacity
        if not levels:
            fit(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        anneal(coarse, core_of, mesh, cores, room, state, hot=3.0, cold=0.01, sweeps=schedule.coarse_sweeps)
    with watch.step("anneal"):
        for _, coarse_of in reversed(levels):
            core_of = core_of[coarse_of]
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        if levels:
            anneal(graph, core_of, mesh, cores, capacity, state, hot=0.4, cold=0.01, sweeps=schedule.fine_sweeps)
    return core_of
