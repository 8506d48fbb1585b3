"""Spec 4 from S2 to S10, word for word: the baseline of every other method."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.capacity import check_capacity, fit
from ..kernels.graph import Graph, merge_vertices
from ..kernels.random import random_state
from ..mesh import Mesh
from ..method import Effort, Mapping, Objective, Watch
from ..topology.topology import Topology
from .coarsen import coarsen
from .force import relax
from .partition import partition
from .place import place
from .refine import refine


def map_literal(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    *,
    objective: Objective = Objective.HOPS,
    effort: Effort = Effort.NORMAL,
    seed: int = 0,
    watch: Watch | None = None,
    tries: int = 4,
    pair_share: int = 15,
    least_removed: float = 0.2,
    force_share: float = 0.05,
    force_weighted: bool = True,
) -> Mapping:
    """
    Map `topology` onto `mesh` by spec 4.

    The spec has one objective (the cut, then forces) and one effort: `objective` and `effort` change nothing. `tries`:
    random orders and starting points of S2 and S3; pairs hold at most capacity / `pair_share` (S2); coarsening ends
    with the level that removes less than `least_removed` of the vertices; `force_share` of the groups move in an
    iteration of S9; without `force_weighted` the weights are left out of the forces.

    Raises MeshloomError if the vertices do not fit.
    """
    watch = watch or Watch()
    state = random_state(seed)
    usable = mesh.usable_cores
    check_capacity(topology.size, capacity, usable.size)
    n = topology.vertices
    if n == 0:
        return Mapping(np.empty(0, np.int32), watch.seconds)
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    levels: list[tuple[Graph, Array]] = []
    with watch.step("coarsen"):
        while True:
            coarse, coarse_of = _coarsen_or_restore(graph, capacity // pair_share, state, tries, watch, len(levels))
            if coarse.vertices > (1 - least_removed) * graph.vertices:
                break
            levels.append((graph, coarse_of))
            graph = coarse
    with watch.step("partition"):
        part, parts = partition(graph, capacity, usable.size, state, tries=tries)
    # Parts have no place yet: with all positions equal, what does not fit goes anywhere else.
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
        core_of = place(groups, mesh, state, tries=tries)
    with watch.step("force"):
        relax(groups, core_of, mesh, share=force_share, weighted=force_weighted)
    return Mapping(core_of[part], watch.seconds)


def _coarsen_or_restore(
    graph: Graph, size_limit: int, state: Array, tries: int, watch: Watch, level: int
) -> tuple[Graph, Array]:
    """A level of S2, from an earlier run where it was kept. The state of the random numbers is kept with it."""
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
