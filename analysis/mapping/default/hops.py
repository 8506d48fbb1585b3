"""Mapping for few hops: merge, find a start on a graph of few vertices, anneal every graph on the way back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....support.jit import Array
from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph
from ..kernels.numbered import Numbered
from ..mapping import Watch
from ..mesh import Mesh
from .anneal import anneal
from .coarsen import undo
from .hierarchy import MERGINGS, Hierarchy, hierarchy
from .hop_table import hop_total
from .scan_anneal import anneal_scanning
from .schedule import Schedule, Work
from .starts import best_starts, first_start

MAX_TABLE = 1 << 24
"""Above so many entries of costs by vertex and column or row, the graph itself is annealed without such a table."""

_COARSE_HOT, _COARSE_COLD = 0.8, 0.01
_FINE_HOT, _LAST_HOT, _COLD = 0.6, 0.2, 0.005
"""Temperatures: the finer the graph, the more of what is there is kept, and most of what was annealed on the graph."""


def map_hops(
    graph: Graph,
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    schedule: Schedule,
    watch: Watch,
    mergings: Sequence[str] = tuple(MERGINGS),
) -> Array:
    """Core of each vertex ([n] int32), of `cores`; `mergings` are the ways of merging that are tried."""
    kept = watch.checkpoints.restore("place-coarse")
    if kept is not None:
        core_of = kept["core_of"]
        state[:] = kept["state"]
    else:
        merged, found = _started(graph, mesh, cores, capacity, state, schedule, watch, mergings)
        with watch.step("anneal coarse"):
            core_of = _refined(merged, found, mesh, cores, capacity, state, schedule)
        watch.checkpoints.save("place-coarse", {"core_of": core_of, "state": state})
    with watch.step("anneal"):
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        sweeps = schedule.fine.sweeps_of(graph)
        if graph.vertices * (mesh.width + mesh.height) > MAX_TABLE:
            every = np.arange(mesh.cores)
            distance = mesh.hops(every[:, None], every[None, :]).astype(np.int32)
            anneal_scanning(graph, core_of, distance, capacity, state, hot=0.05, cold=0.01, sweeps=sweeps)
        else:
            hot = _FINE_HOT if schedule.trial.bounds(graph) else _LAST_HOT
            anneal(graph, core_of, mesh, cores, capacity, state, hot=hot, cold=_COLD, sweeps=sweeps)
    return core_of


def _started(
    graph: Graph,
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    schedule: Schedule,
    watch: Watch,
    mergings: Sequence[str],
) -> tuple[Hierarchy, list[Array]]:
    """(the levels, the best starts on the last), merged in the way whose first start was best."""
    with watch.step("coarsen"):
        ways = [hierarchy(graph, capacity, state, name, watch) for name in mergings]
    with watch.step("start"):
        starts = [first_start(last, mesh, cores, capacity, state, schedule) for _, last in ways]
        best = min(range(len(ways)), key=lambda way: starts[way].cost)
        return ways[best][0], best_starts(starts[best], mesh, cores, state, schedule)


def _refined(
    merged: Hierarchy,
    found: list[Array],
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    schedule: Schedule,
) -> Array:
    """Core of each vertex of the network, from mappings of the last level, best first."""
    for number, steps in reversed(list(enumerate(merged.levels))):
        found = [undo(steps, core_of) for core_of in found]
        if number:
            found = _annealed(Numbered(merged.finer(number)), found, mesh, cores, capacity, state, schedule.coarse)
        else:
            found = _tried(merged.network, found, mesh, cores, capacity, state, schedule.trial)
    return found[0]


def _annealed(
    level: Numbered, found: list[Array], mesh: Mesh, cores: Array, capacity: int, state: Array, work: Work
) -> list[Array]:
    """The mappings `found` annealed on a merged graph, or as they are where that is better; best first."""
    if work.bounds(level.graph):
        found = found[:1]
    rooms = [fit_merged(level.graph, core_of, mesh.x, mesh.y, cores, capacity) for core_of in found]
    sweeps = work.sweeps_of(level.graph)
    for core_of, room in zip(found, rooms, strict=True):
        level.number(np.argsort(core_of, kind="stable"))
        annealed = core_of[level.order]
        hot, cold = _COARSE_HOT, _COARSE_COLD
        if anneal(level.graph, annealed, mesh, cores, room, state, hot=hot, cold=cold, sweeps=sweeps) <= 0:
            core_of[level.order] = annealed
    if len(found) > 1:
        found.sort(key=lambda core_of: hop_total(level.graph, core_of[level.order], mesh))
    return found


def _tried(
    graph: Graph, found: list[Array], mesh: Mesh, cores: Array, capacity: int, state: Array, work: Work
) -> list[Array]:
    """The mappings `found` brought within the capacity and annealed on the graph itself, best first."""
    if work.bounds(graph):
        return found[:1]
    sweeps = work.sweeps_of(graph)
    for core_of in found:
        fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
        anneal(graph, core_of, mesh, cores, capacity, state, hot=_FINE_HOT, cold=_COLD, sweeps=sweeps)
    return sorted(found, key=lambda core_of: hop_total(graph, core_of, mesh))
