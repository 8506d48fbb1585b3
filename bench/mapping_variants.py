"""The default method with one part replaced, put together from its own modules: what each part brings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from meshloom.analysis.mapping.default.anneal import anneal
from meshloom.analysis.mapping.default.dual import dual_bisection
from meshloom.analysis.mapping.default.hops import PARTS_OF_CAPACITY, SCHEDULES, coarsen, starts, sweeps_within
from meshloom.analysis.mapping.kernels.capacity import fit, fit_merged
from meshloom.analysis.mapping.kernels.graph import Graph
from meshloom.analysis.mapping.kernels.random import random_state
from meshloom.analysis.mapping.mapping import Effort
from meshloom.analysis.mapping.mesh import Mesh
from meshloom.analysis.mapping.topology.topology import Topology
from numpy.typing import NDArray

Cores = NDArray[np.int32]


def _run(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    seed: int,
    *,
    parts: int,
    bisected: bool,
    coarse: bool,
    fine: bool,
    first_start: int = 0,
) -> Cores:
    state = random_state(seed)
    cores = mesh.usable_cores
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    schedule = SCHEDULES[Effort.NORMAL]
    levels, merged = coarsen(graph, max(1, capacity // parts), state)
    if bisected:
        core_of = dual_bisection(merged, mesh, cores, capacity, state)
    else:
        core_of = np.random.default_rng(seed).permutation(merged.vertices).astype(np.int32) % mesh.cores
    room = fit_merged(merged, core_of, mesh.x, mesh.y, cores, capacity)
    if coarse:
        sweeps = sweeps_within(merged, schedule.coarse_sweeps, schedule.coarse_work)
        best, best_change = core_of, 0
        for hot, share in starts(sweeps)[first_start:]:
            found = core_of.copy()
            change = anneal(merged, found, mesh, cores, room, state, hot=hot, cold=0.01, sweeps=share * sweeps)
            if change < best_change:
                best, best_change = found, change
        core_of = best
    for coarse_of in reversed(levels):
        core_of = core_of[coarse_of]
    fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
    if fine:
        sweeps = sweeps_within(graph, schedule.fine_sweeps, schedule.fine_work)
        anneal(graph, core_of, mesh, cores, capacity, state, hot=0.4, cold=0.01, sweeps=sweeps)
    return core_of


def _without_bisection(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=False, coarse=True, fine=True)


def _without_coarse_annealing(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=True, coarse=False, fine=True)


def _without_fine_annealing(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=True, coarse=True, fine=False)


def _bisection_alone(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=True, coarse=False, fine=False)


def _larger_clusters(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=15, bisected=True, coarse=True, fine=True)


def _one_start(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(
        topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=True, coarse=True, fine=True, first_start=-1
    )


def _bisection_starts_only(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    return _run(topology, mesh, capacity, seed, parts=PARTS_OF_CAPACITY, bisected=True, coarse=True, fine=True)


VARIANTS: dict[str, Callable[[Topology, Mesh, int, int], Cores]] = {
    "random start instead of dual bisection": _without_bisection,
    "no start from parts of a small cut": _bisection_starts_only,
    "hot start alone": _one_start,
    "no annealing of the merged graph": _without_coarse_annealing,
    "no annealing of the graph itself": _without_fine_annealing,
    "dual bisection alone": _bisection_alone,
    "merged up to a fifteenth of a core": _larger_clusters,
}
