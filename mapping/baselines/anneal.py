"""Baseline: simulated annealing of single vertices, from a greedy start; for hops, cut or multicast traffic."""

from __future__ import annotations

from ...support.errors import MeshloomError
from ..kernels.random import random_state
from ..method import Effort, Mapping, MapRequest, Objective
from ..metrics.multicast import directed_edges
from .anneal_edges import anneal_edges
from .anneal_multicast import anneal_multicast, nets_of
from .hilbert import map_hilbert

MOVES = {Effort.FAST: 40, Effort.NORMAL: 250, Effort.HIGH: 1500}
"""Attempts per vertex."""
MAX_TABLE = 1 << 28
"""Entries (vertices x cores) of the table of multicast annealing; larger networks are refused."""


def map_anneal(request: MapRequest) -> Mapping:
    """
    Anneal the clusters of the Hilbert curve, vertex by vertex.

    The largest link load has no cheap difference: for that objective hops are annealed. Raises MeshloomError where
    multicast traffic is asked for and vertices x cores exceed the table.
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
