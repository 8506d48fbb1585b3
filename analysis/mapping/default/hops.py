"""Mapping for few hops: merge, find a start on a graph of few vertices, anneal every graph on the way back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....support.jit import Array
from ..kernels.capacity import fit, fit_merged
from ..kernels.graph import Graph
from ..mapping import Watch
from ..mesh import Mesh
from .anneal import anneal
from .coarsen import undo
from .hierarchy import MERGINGS, Level, hierarchy
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
        levels, found = _started(graph, mesh, cores, capacity, state, schedule, watch, mergings)
        with watch.step("anneal coarse"):
            core_of = _refined(levels, graph, found, mesh, cores, capacity, state, schedule)
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
) -> tuple[list[Level], list[Array]]:
    """(levels from the finest, the best starts on the last), merged in the way whose first start was best."""
    with watch.step("coarsen"):
        ways = [hierarchy(graph, capacity, state, name, watch) for name in mergings]
    with watch.step("start"):
        starts = [first_start(levels[-1].graph, mesh, cores, capacity, state, schedule) for levels in ways]
        best = min(range(len(ways)), key=lambda way: starts[way].cost)
        return ways[best], best_starts(starts[best], mesh, cores, state, schedule)


def _refined(
    levels: list[Level],
    graph: Graph,
    found: list[Array],
    mesh: Mesh,
    cores: Array,
    capacity: int,
    state: Array,
    schedule: Schedule,
) -> Array:
    """Core of each vertex of `graph`, from mappings of the last level, best first."""
    graphs = [graph, *(level.graph for level in levels[:-1])]
    for level, finer in zip(reversed(levels), reversed(graphs), strict=True):
        is_merged = finer is not graph
        work = schedule.coarse if is_merged else schedule.trial
        found = [undo(level.merged, core_of) for core_of in found]
        if work.bounds(finer):
            found = found[:1]
        if is_merged:
            found = [_annealed(finer, core_of, mesh, cores, capacity, state, work) for core_of in found]
        elif not work.bounds(finer):
            found = [_tried(finer, core_of, mesh, cores, capacity, state, work) for core_of in found]
        found.sort(key=lambda core_of: hop_total(finer, core_of, mesh))
    return found[0]


def _annealed(graph: Graph, core_of: Array, mesh: Mesh, cores: Array, capacity: int, state: Array, work: Work) -> Array:
    """`core_of` annealed on a merged graph, or as it is where that is better."""
    room = fit_merged(graph, core_of, mesh.x, mesh.y, cores, capacity)
    annealed = core_of.copy()
    sweeps = work.sweeps_of(graph)
    anneal(graph, annealed, mesh, cores, room, state, hot=_COARSE_HOT, cold=_COARSE_COLD, sweeps=sweeps)
    return min(annealed, core_of, key=lambda mapping: hop_total(graph, mapping, mesh))


def _tried(graph: Graph, core_of: Array, mesh: Mesh, cores: Array, capacity: int, state: Array, work: Work) -> Array:
    """`core_of` brought within the capacity and annealed, on the graph itself."""
    fit(graph, core_of, mesh.x, mesh.y, cores, capacity)
    sweeps = work.sweeps_of(graph)
    anneal(graph, core_of, mesh, cores, capacity, state, hot=_FINE_HOT, cold=_COLD, sweeps=sweeps)
    return core_of
