"""Mapping for a small cut: as for hops, but annealed on the weight of the edges between cores."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph
from ..mesh import Mesh
from ..method import Effort, Watch
from .coarsen import Coarsening, undo
from .dual import dual_bisection
from .hierarchy import PARTS_OF_CAPACITY
from .scan_anneal import anneal_scanning
from .schedule import SCHEDULES


def map_cut(graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, effort: Effort, watch: Watch) -> Array:
    """Core of each vertex ([n] int32), of `cores`."""
    schedule = SCHEDULES[effort]
    apart = 1 - np.eye(mesh.cores, dtype=np.int32)
    with watch.step("coarsen"):
        coarsening = Coarsening(graph)
        levels = coarsening.merge(max(1, capacity // PARTS_OF_CAPACITY), state)
        coarse = coarsening.graph
    with watch.step("bisect"):
        core_of = dual_bisection(coarse, mesh, cores, capacity, state)
    with watch.step("anneal coarse"):
        room = capacity
        if levels:
            room = fit_merged(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        else:
            fit(coarse, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = schedule.coarse.sweeps_of(coarse) / 2
        anneal_scanning(coarse, core_of, apart, room, state, hot=0.2, cold=0.003, sweeps=sweeps)
    with watch.step("anneal"):
        core_of = undo(levels, core_of)
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        if levels:
            sweeps = schedule.fine.sweeps_of(graph) / 2
            anneal_scanning(graph, core_of, apart, capacity, state, hot=0.06, cold=0.003, sweeps=sweeps)
    return core_of
