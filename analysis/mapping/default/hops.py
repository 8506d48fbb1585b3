"""Mapping for few hops: merge, cut graph and mesh together, anneal the merged graph, anneal the graph itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph, merge_vertices
from ..kernels.jit import Array
from ..mapping import Effort, Watch
from ..mesh import Mesh
from .anneal import anneal
from .cluster import clusters
from .dual import dual_bisection
from .hop_table import hop_total
from .parts_first import parts_first
from .scan_anneal import anneal_scanning


@dataclass(frozen=True)
class Schedule:
    """How much work an effort is. A sweep is a proposal a vertex; large graphs get fewer: see `sweeps_within`."""

    coarse_sweeps: float
    coarse_work: float
    fine_sweeps: float
    fine_work: float


SCHEDULES = {
    Effort.FAST: Schedule(200, 2e7, 60, 1e7),
    Effort.NORMAL: Schedule(1200, 1e8, 250, 5e7),
    Effort.HIGH: Schedule(5000, 6e8, 1000, 3e8),
}


def sweeps_within(graph: Graph, sweeps: float, work: float) -> float:
    """`sweeps`, or as many as `work` proposals are (a fiftieth of the vertex's edges counts too), but at least 10."""
    return max(10.0, min(sweeps, work / (graph.vertices + 0.02 * graph.indices.size)))


def starts(sweeps: float) -> list[tuple[float, float]]:
    """
    (temperature, share of the sweeps) of the annealings of the merged graph, the best of which counts.

    The hotter the start, the more of the mapping is made anew, which takes time to pay. Sheets are best left mostly as
    bisection has cut them; networks of many long edges gain most from a hot start.
    """
    if sweeps < 600:
        return [(max(0.5, sweeps / 300), 1.0)]
    return [(0.5, 0.3), (3.0, 1.0)]


PARTS_OF_CAPACITY = 60
"""Merged vertices hold at most this fraction of a core: small enough for the merged graph to be a good likeness."""

PARTS_SCANNED = 2e8
"""So many edges are looked at for the start from parts of a small cut, which scans the edges of every vertex."""

MAX_TABLE = 1 << 24
"""Above so many entries of costs by vertex and column or row, the graph itself is annealed without such a table."""


def coarsen(graph: Graph, size_limit: int, state: Array) -> tuple[list[Array], Graph]:
    """(merged vertex of each vertex, level by level from the finest; the coarsest graph)"""
    levels: list[Array] = []
    while True:
        coarse_of, count = clusters(graph, size_limit, state)
        if count > 0.9 * graph.vertices:
            return levels, graph
        levels.append(coarse_of)
        graph = merge_vertices(graph, coarse_of, count)


def map_hops(
    graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, effort: Effort, watch: Watch
) -> Array:
    """Core of each vertex ([n] int32), of `cores`."""
    schedule = SCHEDULES[effort]
    with watch.step("coarsen"):
        levels, coarse = _coarsen_or_restore(graph, max(1, capacity // PARTS_OF_CAPACITY), state, watch)
    kept = watch.checkpoints.restore("place-coarse")
    if kept is not None:
        core_of = kept["core_of"]
        state[:] = kept["state"]
    else:
        core_of = _place_coarse(coarse, bool(levels), mesh, cores, capacity, state, schedule, watch)
        watch.checkpoints.save("place-coarse", {"core_of": core_of, "state": state})
    with watch.step("anneal"):
        for coarse_of in reversed(levels):
            core_of = core_of[coarse_of]
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = sweeps_within(graph, schedule.fine_sweeps, schedule.fine_work)
        if graph.vertices * (mesh.width + mesh.height) > MAX_TABLE:
            every = np.arange(mesh.cores)
            distance = mesh.hops(every[:, None], every[None, :]).astype(np.int32)
            anneal_scanning(graph, core_of, distance, capacity, state, hot=0.05, cold=0.01, sweeps=sweeps)
        elif levels:
            anneal(graph, core_of, mesh, cores, capacity, state, hot=0.4, cold=0.01, sweeps=sweeps)
    return core_of


def _coarsen_or_restore(graph: Graph, size_limit: int, state: Array, watch: Watch) -> tuple[list[Array], Graph]:
    """As `coarsen`, from an earlier run where it was kept. The state of the random numbers is kept with it."""
    kept = watch.checkpoints.restore("coarsen")
    if kept is not None:
        state[:] = kept["state"]
        coarse = Graph(kept["indptr"], kept["indices"], kept["data"], kept["size"])
        return [kept[f"level-{number}"] for number in range(int(kept["levels"][0]))], coarse
    levels, coarse = coarsen(graph, size_limit, state)
    arrays = {"indptr": coarse.indptr, "indices": coarse.indices, "data": coarse.data, "size": coarse.size}
    numbered = {f"level-{number}": level for number, level in enumerate(levels)}
    watch.checkpoints.save("coarsen", {**arrays, **numbered, "levels": np.array([len(levels)]), "state": state})
    return levels, coarse


def _place_coarse(
    coarse: Graph,
    merged: bool,
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    schedule: Schedule,
    watch: Watch,
) -> Array:
    """Core of each vertex of the coarsest graph, bisected and annealed."""
    with watch.step("bisect"):
        core_of = dual_bisection(coarse, mesh, cores, capacity, state)
    with watch.step("anneal coarse"):
        room = capacity
        if merged:
            room = fit_merged(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        else:
            fit(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = sweeps_within(coarse, schedule.coarse_sweeps, schedule.coarse_work)
        found = [core_of.copy() for _ in starts(sweeps)]
        for mapping, (hot, share) in zip(found, starts(sweeps), strict=True):
            anneal(coarse, mapping, mesh, cores, room, state, hot=hot, cold=0.01, sweeps=share * sweeps)
        if len(found) > 1:
            scans = min(0.3 * sweeps, PARTS_SCANNED / max(1, coarse.indices.size))
            mapping = parts_first(coarse, core_of, mesh, cores, room, state, sweeps=scans)
            anneal(coarse, mapping, mesh, cores, room, state, hot=0.8, cold=0.01, sweeps=0.3 * sweeps)
            found.append(mapping)
    return min(found, key=lambda mapping: hop_total(coarse, mapping, mesh))
