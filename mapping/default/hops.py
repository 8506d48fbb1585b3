"""Mapping for few hops: coarsen, find a start on the coarsest graph, anneal on every level during uncoarsening."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph
from ..kernels.numbered import Numbered
from ..mesh import Mesh
from ..method import Watch
from .anneal import anneal
from .coarsen import undo
from .hierarchy import MERGINGS, Hierarchy, hierarchies, hierarchy
from .hop_table import hop_total
from .scan_anneal import anneal_scanning
from .schedule import Schedule
from .starts import best_starts, first_start
from .target import Cooling, Target

MAX_TABLE = 1 << 24
"""Largest number of entries of the hop table; graphs that need more are annealed without it."""

_COARSE_HOT, _COARSE_COLD = 0.8, 0.03
_FINE_HOT, _LAST_HOT, _COLD = 0.6, 0.2, 0.01
_SETTLING_HOT, _SETTLING_COLD = 0.02, 0.005
"""First and last temperature; they are lower for finer graphs, in which more of the mapping is kept."""

_SETTLING = 0.1
"""Temperature of the last sweeps, in which no core may exceed its capacity."""


def map_hops(
    graph: Graph,
    target: Target,
    state: Array,
    schedule: Schedule,
    watch: Watch,
    mergings: Sequence[str] = tuple(MERGINGS),
) -> Array:
    """Core of each vertex ([n] int32), one of the target's cores; `mergings`: the coarsening methods that are tried."""
    kept = watch.checkpoints.restore("place-coarse")
    if kept is not None:
        core_of = kept["core_of"]
        state[:] = kept["state"]
    else:
        merged, found = _started(graph, target, state, schedule, watch, mergings)
        with watch.step("anneal coarse"):
            core_of = _refined(merged, found, target, state, schedule)
        watch.checkpoints.save("place-coarse", {"core_of": core_of, "state": state})
    with watch.step("anneal"):
        sweeps = schedule.fine.sweeps_of(graph)
        if _is_scanned(graph, target.mesh):
            target.fit(graph, core_of)
            mesh = target.mesh
            every = np.arange(mesh.cores)
            distance = mesh.hops(every[:, None], every[None, :]).astype(np.int32)
            anneal_scanning(graph, core_of, distance, target.capacity, state, Cooling(0.05, 0.01, sweeps))
        else:
            hot = _FINE_HOT if schedule.trial.bounds(graph) else _LAST_HOT
            _anneal_loosely(graph, core_of, target, state, schedule, hot, (1 - _SETTLING) * sweeps)
            target.fit(graph, core_of)
            hot, cold = _SETTLING_HOT, _SETTLING_COLD
            anneal(graph, core_of, target, state, Cooling(hot, cold, _SETTLING * sweeps))
    return core_of


def _started(
    graph: Graph,
    target: Target,
    state: Array,
    schedule: Schedule,
    watch: Watch,
    mergings: Sequence[str],
) -> tuple[Hierarchy, list[Array]]:
    """(the levels, the best starts on the last one), by the coarsening method whose first start was best."""
    with watch.step("coarsen"):
        if schedule.start.bounds(graph):
            ways = hierarchies(graph, target.capacity, state, mergings, watch)
        else:
            # On a small network every method is cheap.
            ways = [hierarchy(graph, target.capacity, state, name, watch) for name in mergings]
    with watch.step("start"):
        starts = [first_start(last, target, state, schedule) for _, last in ways]
        best = min(range(len(ways)), key=lambda way: starts[way].cost)
        return ways[best][0], best_starts(starts[best], target, state, schedule)


def _refined(
    merged: Hierarchy,
    found: list[Array],
    target: Target,
    state: Array,
    schedule: Schedule,
) -> Array:
    """Core of each vertex of the network, from mappings of the last level, best first."""
    for number, steps in reversed(list(enumerate(merged.levels))):
        found = [undo(steps, core_of) for core_of in found]
        if number:
            # The few sweeps without a table cannot repair cores over their capacity.
            is_loose = not _is_scanned(merged.network, target.mesh)
            found = _annealed(Numbered(merged.finer(number)), found, target, state, schedule, is_loose)
        else:
            found = _tried(merged.network, found, target, state, schedule)
    return found[0]


def _is_scanned(graph: Graph, mesh: Mesh) -> bool:
    return graph.vertices * (mesh.width + mesh.height) > MAX_TABLE


def _annealed(
    level: Numbered,
    found: list[Array],
    target: Target,
    state: Array,
    schedule: Schedule,
    is_loose: bool,
) -> list[Array]:
    """The mappings `found` annealed on a merged graph, best first; `is_loose`: a core may end over its capacity."""
    if schedule.coarse.bounds(level.graph):
        found = found[:1]
    sweeps = schedule.coarse.sweeps_of(level.graph)
    hot, cold = _COARSE_HOT, _COARSE_COLD
    for core_of in found:
        level.number(np.argsort(core_of, kind="stable"))
        graph, annealed = level.graph, core_of[level.order]
        fitted, limits = target, schedule.merged_limits(graph, target.capacity)
        if not is_loose:
            fitted, limits = target.fitted_merged(graph, annealed), None
        anneal(graph, annealed, fitted, state, Cooling(hot, cold, sweeps), limits=limits)
        core_of[level.order] = annealed
        del graph
    if len(found) > 1:
        found.sort(key=lambda core_of: hop_total(level.graph, core_of[level.order], target.mesh))
    return found


def _tried(graph: Graph, found: list[Array], target: Target, state: Array, schedule: Schedule) -> list[Array]:
    """The mappings `found` annealed on the graph itself, best first."""
    if schedule.trial.bounds(graph):
        return found[:1]
    sweeps = schedule.trial.sweeps_of(graph)
    for core_of in found:
        _anneal_loosely(graph, core_of, target, state, schedule, _FINE_HOT, sweeps)
    return sorted(found, key=lambda core_of: hop_total(graph, core_of, target.mesh))


def _anneal_loosely(
    graph: Graph,
    core_of: Array,
    target: Target,
    state: Array,
    schedule: Schedule,
    hot: float,
    sweeps: float,
) -> None:
    """Anneal `core_of` on the graph itself; in the end, a core may exceed its capacity by little."""
    limits = schedule.limits(target.capacity)
    if graph.size.max() > limits[0] - target.capacity:
        # Large vertices might not fit afterwards, so the capacity is kept throughout.
        target.fit(graph, core_of)
        limits = None
    anneal(graph, core_of, target, state, Cooling(hot, _COLD, sweeps), limits=limits)
