"""The default method: what it does for each objective."""

from __future__ import annotations

import numpy as np

from ..kernels.capacity import check_capacity
from ..kernels.graph import Graph
from ..kernels.jit import Array
from ..kernels.random import random_state
from ..kernels.rectangle import choose_rectangle
from ..mapping import Effort, Mapping, Objective, Watch
from ..mesh import Mesh
from ..topology.topology import Topology
from .hops import map_hops


def map_default(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    *,
    objective: Objective = Objective.HOPS,
    effort: Effort = Effort.NORMAL,
    seed: int = 0,
    watch: Watch | None = None,
) -> Mapping:
    """
    Map `topology` onto `mesh`, such that `objective` is small.

    No more cores are used than 1.05 times the total size needs, in the rectangle of least extent.

    Raises MeshloomError if the vertices do not fit.
    """
    watch = watch or Watch()
    check_capacity(topology.size, capacity, mesh.usable_cores.size)
    if topology.vertices == 0:
        return Mapping(np.empty(0, np.int32), watch.seconds)
    cores = _cores(topology.total_size, capacity, mesh)
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    core_of = map_hops(graph, mesh, cores, capacity, random_state(seed), effort, watch)
    return Mapping(core_of, watch.seconds)


def _cores(total: int, capacity: int, mesh: Mesh) -> Array:
    """The cores to use: so many that one in twenty-one may stay empty, which gives refinement some freedom."""
    needed = max(1, -(-total * 105 // (100 * max(1, capacity))))
    return choose_rectangle(mesh, min(needed, mesh.usable_cores.size))
