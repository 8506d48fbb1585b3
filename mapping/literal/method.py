"""Spec 4, S2 to S10: the reference method, with which other methods are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import Array
from ..kernels.capacity import check_capacity, fit
from ..kernels.graph import Graph, merge_vertices
from ..kernels.random import random_state
from ..method import Mapping, MapRequest, Watch
from .coarsen import coarsen
from .force import relax
from .partition import partition
from .place import place
from .refine import refine


@dataclass(frozen=True)
class LiteralSettings:
    """Parameters that spec 4 leaves open."""

    tries: int = 4
    """Number of random orders of S2 and of random starting points of S3."""
    pair_share: int = 15
    """The size of a pair of S2 is at most 1 / pair_share of the capacity."""
    least_removed: float = 0.2
    """Coarsening ends with the level that removes less than this share of the vertices."""
    force_share: float = 0.05
    """Share of the groups that move in an iteration of S9."""
    force_weighted: bool = True
    """Whether forces are weighted by the edges."""


DEFAULTS = LiteralSettings()


def map_literal(request: MapRequest, settings: LiteralSettings = DEFAULTS) -> Mapping:
    """
    Map the request's topology onto its mesh by spec 4.

    The spec has one objective (the cut, then forces) and one effort; those of the request are ignored.

    Raises MeshloomError if the vertices do not fit.
    """
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    state = random_state(request.seed)
    usable = mesh.usable_cores
    check_capacity(topology.size, capacity, usable.size)
    n = topology.vertices
    if n == 0:
        return Mapping(np.empty(0, np.int32), watch.seconds)
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    levels: list[tuple[Graph, Array]] = []
    with watch.step("coarsen"):
        while True:
            coarse, coarse_of = _coarsen_or_restore(
                graph, capacity // settings.pair_share, state, settings.tries, watch, len(levels)
            )
            if coarse.vertices > (1 - settings.least_removed) * graph.vertices:
                break
            levels.append((graph, coarse_of))
            graph = coarse
    with watch.step("partition"):
        part, parts = partition(graph, capacity, usable.size, state, tries=settings.tries)
    # Parts have no positions yet; with equal positions, vertices that do not fit move to any other part.
    nowhere = np.zeros(parts, np.int64)
    with watch.step("refine"):
        refine(graph, part, parts, capacity, state)
        while levels:
            graph, coarse_of = levels.pop()
            part = part[coarse_of]
            if not levels:
                fit(graph, part, nowhere, nowhere, np.arange(parts, dtype=np.int32), capacity)
            refine(graph, part, parts, capacity, state)
        fit(graph, part, nowhere, nowhere, np.arange(parts, dtype=np.int32), capacity)
    with watch.step("place"):
        groups = merge_vertices(graph, part, parts)
        core_of = place(groups, mesh, state, tries=settings.tries)
    with watch.step("force"):
        relax(groups, core_of, mesh, share=settings.force_share, weighted=settings.force_weighted)
    return Mapping(core_of[part], watch.seconds)


def _coarsen_or_restore(
    graph: Graph, size_limit: int, state: Array, tries: int, watch: Watch, level: int
) -> tuple[Graph, Array]:
    """
    A level of S2. If an earlier run left a checkpoint, the result and the state of the random numbers are restored from
    it.
    """
    name = f"literal-coarsen-{level}"
    kept = watch.checkpoints.restore(name)
    if kept is not None:
        state[:] = kept["state"]
        return Graph(kept["indptr"], kept["indices"], kept["data"], kept["size"]), kept["coarse_of"]
    coarse, coarse_of = coarsen(graph, size_limit, state, tries=tries)
    watch.checkpoints.save(
        name,
        {
            "indptr": coarse.indptr,
            "indices": coarse.indices,
            "data": coarse.data,
            "size": coarse.size,
            "coarse_of": coarse_of,
            "state": state,
        },
    )
    return coarse, coarse_of
