"""
Placement of tiles by the methods that map networks onto cores (`mapping`).

These methods respect the capacity of cores, but may assign several tiles of a task to one core: they tend to put a task
on few cores, near its operands. So their result is only a target for each tile; the tiles of each task are then
assigned to the nearest of its planned cores, and exchanged as long as that saves bytes x hops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...mapping.mesh import Mesh
from ...mapping.method import Effort, MapRequest, Objective, default_capacity
from ...mapping.methods import find_method
from ...mapping.topology.topology import Topology, from_directed
from .matching import match, nearest_to
from .stacks import Stacks, stacks_of
from .tile_graph import TileGraph


def place_mapped(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], method: str, objective: Objective, seed: int
) -> NDArray[np.int32]:
    """[vertices] cores by a method of mapping, with little effort, to keep compilation fast. See `PlaceMethod`."""
    stacks = stacks_of(graph, planned)
    if not len(stacks.source):
        return planned.copy()
    mesh = Mesh.of_chip(chip)
    capacity = default_capacity(stacks.stacks, mesh)
    found = find_method(method)(
        MapRequest(topology_of(stacks), mesh, capacity, objective=objective, effort=Effort.FAST, seed=seed)
    )
    placed = match(nearest_to(found.core_of_vertex, stacks, mesh), stacks, mesh)
    return placed[stacks.of_vertex]


def place_matched(graph: TileGraph, chip: Chip, planned: NDArray[np.int32]) -> NDArray[np.int32]:
    """[vertices] the planned cores, with the tiles of each task exchanged as long as that saves bytes x hops."""
    stacks = stacks_of(graph, planned)
    return match(stacks.planned, stacks, Mesh.of_chip(chip))[stacks.of_vertex]


def topology_of(stacks: Stacks) -> Topology:
    """The stacks as a network for mapping: each has size 1, and edges are weighted by bytes."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(stacks.source, minlength=stacks.stacks))])
    return from_directed(indptr, stacks.target, stacks.nbytes)
