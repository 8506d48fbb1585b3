"""The default method with one part replaced, put together from its own modules: what each part brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from meshloom.analysis.mapping.default.anneal import anneal
from meshloom.analysis.mapping.default.coarsen import coarsen, undo
from meshloom.analysis.mapping.default.dual import dual_bisection
from meshloom.analysis.mapping.default.hops import PARTS_OF_CAPACITY
from meshloom.analysis.mapping.default.schedule import SCHEDULES, Schedule
from meshloom.analysis.mapping.default.starts import best_start
from meshloom.analysis.mapping.kernels.capacity import fit, fit_merged
from meshloom.analysis.mapping.kernels.graph import Graph
from meshloom.analysis.mapping.kernels.random import random_state
from meshloom.analysis.mapping.mapping import Effort
from meshloom.analysis.mapping.mesh import Mesh
from meshloom.analysis.mapping.topology.topology import Topology
from meshloom.support.jit import Array
from numpy.typing import NDArray

Cores = NDArray[np.int32]
Start = Callable[[Graph, Mesh, Array, int, Array, Schedule], Array]


def _bisected(graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, schedule: Schedule) -> Array:
    del schedule
    return dual_bisection(graph, mesh, cores, capacity, state)


def _random(graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, schedule: Schedule) -> Array:
    del cores, capacity, schedule
    return np.random.default_rng(int(state[0])).permutation(graph.vertices).astype(np.int32) % mesh.cores


def _single(graph: Graph, mesh: Mesh, cores: Array, capacity: int, state: Array, schedule: Schedule) -> Array:
    return best_start(graph, mesh, cores, capacity, state, replace(schedule, starts=1))


def _run(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    seed: int,
    *,
    parts: int = PARTS_OF_CAPACITY,
    start: Start = best_start,
    coarse_hot: float = 1.0,
    fine_hot: float = 0.6,
) -> Cores:
    """Temperature 0: no annealing."""
    state = random_state(seed)
    cores = mesh.usable_cores
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    schedule = SCHEDULES[Effort.NORMAL]
    levels, merged = coarsen(graph, max(1, capacity // parts), state)
    core_of = start(merged, mesh, cores, capacity, state, schedule)
    room = fit_merged(merged, core_of, mesh.x, mesh.y, cores, capacity)
    if coarse_hot:
        sweeps = schedule.coarse.sweeps_of(merged)
        anneal(merged, core_of, mesh, cores, room, state, hot=coarse_hot, cold=0.01, sweeps=sweeps)
    core_of = undo(levels, core_of)
    fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
    if fine_hot:
        sweeps = schedule.fine.sweeps_of(graph)
        anneal(graph, core_of, mesh, cores, capacity, state, hot=fine_hot, cold=0.01, sweeps=sweeps)
    return core_of


VARIANTS: dict[str, Callable[[Topology, Mesh, int, int], Cores]] = {
    "dual bisection as the only start": partial(_run, start=_bisected),
    "a random start": partial(_run, start=_random, coarse_hot=3.0),
    "one hot start instead of four": partial(_run, start=_single),
    "no annealing of the merged graph": partial(_run, coarse_hot=0.0),
    "no annealing of the graph itself": partial(_run, fine_hot=0.0),
    "dual bisection alone": partial(_run, start=_bisected, coarse_hot=0.0, fine_hot=0.0),
    "merged up to a thirtieth of a core": partial(_run, parts=30),
}
