"""
Baseline: simulated annealing of single vertices from the clusters of a Hilbert curve, for hops, cut or multicast
traffic.
"""

from __future__ import annotations

from ...support.errors import MeshloomError
from ..kernels.random import random_state
from ..method import Effort, Mapping, MapRequest, Objective
from ..metrics.multicast import directed_edges
from .anneal_edges import anneal_edges
from .anneal_multicast import anneal_multicast, nets_of
from .hilbert import map_hilbert

MOVES = {Effort.FAST: 40, Effort.NORMAL: 250, Effort.HIGH: 1500}
"""Proposals per vertex."""
MAX_TABLE = 1 << 28
"""Largest number of entries (vertices x cores) of the table for multicast annealing; larger networks are an error."""


def map_anneal(request: MapRequest) -> Mapping:
    """
    Map the clusters of a Hilbert curve, then anneal vertex by vertex.

    The change of the largest link load is expensive to compute, so hops are annealed for that objective. Raises
    MeshloomError if the objective is multicast traffic and vertices x cores exceeds `MAX_TABLE`.
    """
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    start = map_hilbert(MapRequest(topology, mesh, capacity, watch=watch)).core_of_vertex.copy()
    moves = MOVES[request.effort] * topology.vertices
    if request.objective is Objective.MULTICAST:
        rows = directed_edges(topology)
        if topology.vertices * mesh.cores > MAX_TABLE:
            raise MeshloomError(
                f"multicast annealing keeps a table of vertices x cores, {topology.vertices} x {mesh.cores} is too "
                f"large: choose method 'default'"
            )
        with watch.step("anneal"):
            nets = nets_of(*rows)
            anneal_multicast(nets, topology.size, start, mesh, capacity, moves, random_state(request.seed))
    else:
        with watch.step("anneal"):
            anneal_edges(
                topology,
                start,
                mesh,
                capacity,
                moves,
                random_state(request.seed),
                cut=request.objective is Objective.CUT,
            )
    return Mapping(start, watch.seconds)
