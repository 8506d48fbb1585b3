"""Loads of links under XY routing: first along the row of the sender, then along the column of the receiver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit
from ..mesh import Mesh
from ..topology.topology import Topology

EAST, WEST, NORTH, SOUTH = range(4)
"""First index of loads: the direction in which traffic leaves a router (north: y - 1)."""


def unicast_loads(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> NDArray[np.float64]:
    """
    [4, cores] loads of the links east, west, north and south of each core if every edge is a message.

    Directed edges carry their spikes from source to target; if only undirected edges are known, half of their weight is
    sent in each direction.
    """
    if topology.src_indptr is None or topology.src_indices is None or topology.spikes is None:
        rows, share = (topology.indptr, topology.indices, topology.data), 0.5
    else:
        rows, share = (topology.src_indptr, topology.src_indices, topology.spikes), 1.0
    return np.multiply(_xy_loads(*rows, core_of_vertex, mesh.width, mesh.height), share, dtype=np.float64)


@jit
def _xy_loads(
    indptr: NDArray[np.int64],
    targets: NDArray[Any],
    data: NDArray[Any],
    core: NDArray[np.int32],
    width: int,
    height: int,
) -> NDArray[np.int64]:
    # changes[direction, router]: the change of the load at a router along a direction; cumulative sums are the loads.
    changes = np.zeros((4, height, width), np.int64)
    for source in range(len(indptr) - 1):
        x, y = core[source] % width, core[source] // width
        for k in range(indptr[source], indptr[source + 1]):
            to_x, to_y = core[targets[k]] % width, core[targets[k]] // width
            weight = data[k]
            if to_x > x:
                changes[EAST, y, x] += weight
                changes[EAST, y, to_x] -= weight
            elif to_x < x:
                changes[WEST, y, x] += weight
                changes[WEST, y, to_x] -= weight
            if to_y > y:
                changes[SOUTH, y, to_x] += weight
                changes[SOUTH, to_y, to_x] -= weight
            elif to_y < y:
                changes[NORTH, y, to_x] += weight
                changes[NORTH, to_y, to_x] -= weight
    for y in range(height):
        for x in range(1, width):
            changes[EAST, y, x] += changes[EAST, y, x - 1]
            changes[WEST, y, width - 1 - x] += changes[WEST, y, width - x]
    for y in range(1, height):
        for x in range(width):
            changes[SOUTH, y, x] += changes[SOUTH, y - 1, x]
            changes[NORTH, height - 1 - y, x] += changes[NORTH, height - y, x]
    return changes.reshape(4, height * width)
