"""The default method of mapping, for each objective."""

from __future__ import annotations

import numpy as np

from ...support.errors import InputError
from ...support.jit import Array
from ..kernels.capacity import check_capacity, cores_to_pack
from ..kernels.graph import Graph
from ..kernels.random import random_state
from ..kernels.rectangle import choose_rectangle
from ..mesh import Mesh
from ..method import Mapping, MapRequest, Objective
from ..topology.csr_kernels import transposed
from ..topology.topology import Topology
from .cut import map_cut
from .hops import map_hops
from .links import LINK_PROPOSALS, level_links
from .multicast import CYCLES, refine_multicast
from .nets import nets_of
from .schedule import SCHEDULES
from .step import refine_step
from .target import Target


def map_default(request: MapRequest) -> Mapping:
    """
    Map the request's topology onto its mesh such that its objective is small.

    At most as many cores are used as 1.05 times the total size needs (or as packing large vertices needs), in the
    rectangle of least extent.

    Raises MeshloomError if the vertices do not fit, InputError if multicast traffic or cycles are the objective of a
    topology without directed edges.
    """
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    check_capacity(topology.size, capacity, mesh.usable_cores.size)
    if topology.vertices == 0:
        return Mapping(np.empty(0, np.int32), watch.seconds)
    target = Target(mesh, _cores(topology.size, capacity, mesh), capacity)
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    state = random_state(request.seed)
    if request.objective == Objective.CUT:
        return Mapping(map_cut(graph, target, state, request.effort, watch), watch.seconds)
    core_of = map_hops(graph, target, state, SCHEDULES[request.effort], watch)
    if request.objective == Objective.MULTICAST:
        with watch.step("multicast"):
            nets = nets_of(*_directed(topology))
            core_of = refine_multicast(nets, graph, core_of, target, state, CYCLES[request.effort])
    elif request.objective == Objective.CYCLES:
        with watch.step("cycles"):
            nets = nets_of(*_directed(topology))
            core_of = refine_step(nets, graph, core_of, target, state, request.effort)
    elif request.objective == Objective.LINK:
        with watch.step("links"):
            outgoing, incoming = _directions(topology, graph)
            level_links(outgoing, incoming, core_of, target, state, LINK_PROPOSALS[request.effort])
    return Mapping(core_of, watch.seconds)


def _directed(topology: Topology) -> tuple[Array, Array, Array]:
    indptr, indices, spikes = topology.src_indptr, topology.src_indices, topology.spikes
    if indptr is None or indices is None or spikes is None:
        raise InputError("multicast traffic needs the directed edges: src_indptr, src_indices, spikes")
    return indptr, indices, spikes


def _directions(topology: Topology, graph: Graph) -> tuple[Graph, Graph]:
    """The edges by sender and by receiver; the undirected graph twice if the directions are unknown."""
    indptr, indices, spikes = topology.src_indptr, topology.src_indices, topology.spikes
    if indptr is None or indices is None or spikes is None:
        return graph, graph
    return Graph(indptr, indices, spikes, graph.size), Graph(*transposed(indptr, indices, spikes), graph.size)


def _cores(size: Array, capacity: int, mesh: Mesh) -> Array:
    """The cores to use: 1.05 times as many as needed, which gives refinement some freedom."""
    usable = mesh.usable_cores.size
    needed = max(1, -(-int(size.sum()) * 105 // (100 * max(1, capacity))))
    return choose_rectangle(mesh, cores_to_pack(size, capacity, min(needed, usable), usable))
