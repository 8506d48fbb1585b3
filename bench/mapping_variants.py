"""Ablation of the default mapping method: variants that each leave out one part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from meshloom.mapping.default.coarsen import undo
from meshloom.mapping.default.dual import dual_bisection
from meshloom.mapping.default.hierarchy import MERGINGS, hierarchy
from meshloom.mapping.default.hops import map_hops
from meshloom.mapping.default.schedule import SCHEDULES, Schedule, Work
from meshloom.mapping.default.target import Target
from meshloom.mapping.kernels.graph import Graph
from meshloom.mapping.kernels.random import random_state
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.method import Effort, Watch
from meshloom.mapping.topology.topology import Topology
from numpy.typing import NDArray

Cores = NDArray[np.int32]

_NORMAL = SCHEDULES[Effort.NORMAL]
_NONE = Work(0, 0)


def _run(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    seed: int,
    *,
    schedule: Schedule = _NORMAL,
    mergings: tuple[str, ...] = tuple(MERGINGS),
) -> Cores:
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    state = random_state(seed)
    return map_hops(graph, Target(mesh, mesh.usable_cores, capacity), state, schedule, Watch(), mergings)


def _bisected(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    state = random_state(seed)
    merged, last = hierarchy(graph, capacity, state, "tied", Watch())
    target = Target(mesh, mesh.usable_cores, capacity)
    core_of = dual_bisection(last, target, state)
    for steps in reversed(merged.levels):
        core_of = undo(steps, core_of)
    target.fit(graph, core_of)
    return core_of


VARIANTS: dict[str, Callable[[Topology, Mesh, int, int], Cores]] = {
    "merged along edges alone": partial(_run, mergings=("tied",)),
    "merged by like neighbours alone": partial(_run, mergings=("alike",)),
    "one hot start instead of four": partial(_run, schedule=replace(_NORMAL, starts=1)),
    "one start followed instead of three": partial(_run, schedule=replace(_NORMAL, kept=1)),
    "no core over its capacity at first": partial(_run, schedule=replace(_NORMAL, spare=0.0)),
    "no annealing of merged graphs": partial(_run, schedule=replace(_NORMAL, coarse=_NONE)),
    "no annealing of the network itself": partial(_run, schedule=replace(_NORMAL, trial=_NONE, fine=_NONE)),
    "dual bisection alone": _bisected,
}
