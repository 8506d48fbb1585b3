"""Mapping for a small cut: as for few hops, but annealing reduces the weight of the edges between cores."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph
from ..method import Effort, Watch
from .coarsen import Coarsening, undo
from .dual import dual_bisection
from .hierarchy import PARTS_OF_CAPACITY
from .scan_anneal import anneal_scanning
from .schedule import SCHEDULES
from .target import Cooling, Target


def map_cut(graph: Graph, target: Target, state: Array, effort: Effort, watch: Watch) -> Array:
    """Core of each vertex ([n] int32), one of the target's cores."""
    schedule = SCHEDULES[effort]
    apart = 1 - np.eye(target.mesh.cores, dtype=np.int32)
    with watch.step("coarsen"):
        coarsening = Coarsening(graph)
        levels = coarsening.merge(max(1, target.capacity // PARTS_OF_CAPACITY), state)
        coarse = coarsening.graph
    with watch.step("bisect"):
        core_of = dual_bisection(coarse, target, state)
    with watch.step("anneal coarse"):
        capacity = target.capacity
        if levels:
            capacity = target.fitted_merged(coarse, core_of).capacity
        else:
            target.fit(coarse, core_of)
        sweeps = schedule.coarse.sweeps_of(coarse) / 2
        anneal_scanning(coarse, core_of, apart, capacity, state, Cooling(0.2, 0.003, sweeps))
    with watch.step("anneal"):
        core_of = undo(levels, core_of)
        target.fit(graph, core_of)
        if levels:
            sweeps = schedule.fine.sweeps_of(graph) / 2
            anneal_scanning(graph, core_of, apart, target.capacity, state, Cooling(0.06, 0.003, sweeps))
    return core_of
