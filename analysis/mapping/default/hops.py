"""Mapping for few hops: merge, find a start on a graph of few vertices, anneal the merged graph, anneal the graph."""

from __future__ import annotations

import numpy as np

from ....support.jit import Array
from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph
from ..mapping import Effort, Watch
from ..mesh import Mesh
from .anneal import anneal
from .coarsen import coarsen, undo
from .hop_table import hop_total
from .scan_anneal import anneal_scanning
from .schedule import SCHEDULES, Schedule
from .starts import best_start

PARTS_OF_CAPACITY = 60
"""Merged vertices hold at most this fraction of a core: small enough for the merged graph to be a good likeness."""

MAX_TABLE = 1 << 24
"""Above so many entries of costs by vertex and column or row, the graph itself is annealed without such a table."""

_COARSE_HOT, _FINE_HOT, _COLD = 1.0, 0.6, 0.01
"""Temperatures: the finer the graph, the more of what is there is kept."""


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
        core_of = undo(levels, core_of)
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = schedule.fine.sweeps_of(graph)
        if graph.vertices * (mesh.width + mesh.height) > MAX_TABLE:
            every = np.arange(mesh.cores)
            distance = mesh.hops(every[:, None], every[None, :]).astype(np.int32)
            anneal_scanning(graph, core_of, distance, capacity, state, hot=0.05, cold=0.01, sweeps=sweeps)
        elif levels:
            anneal(graph, core_of, mesh, cores, capacity, state, hot=_FINE_HOT, cold=_COLD, sweeps=sweeps)
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
    """Core of each vertex of the merged graph (`merged`; else the graph itself), annealed from the best start."""
    with watch.step("start"):
        core_of = best_start(coarse, mesh, cores, capacity, state, schedule)
    with watch.step("anneal coarse"):
        room = capacity
        if merged:
            room = fit_merged(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        else:
            fit(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = schedule.coarse.sweeps_of(coarse)
        annealed = core_of.copy()
        anneal(coarse, annealed, mesh, cores, room, state, hot=_COARSE_HOT, cold=_COLD, sweeps=sweeps)
    return min(annealed, core_of, key=lambda mapping: hop_total(coarse, mapping, mesh))
