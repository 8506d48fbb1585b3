"""
Costs of multicast traffic, in which a source sends to a core once, whatever the number of its targets there.

All costs are computed from a traversal of the directed edges that finds, for each source, the cores that hold its
targets, with the largest number of spikes into each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ...support.jit import jit
from ..mesh import Mesh
from ..topology.topology import Topology
from .links import EAST, NORTH, SOUTH, WEST


def delivered_traffic(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> int:
    """
    Sum over sources, and the other cores that hold their targets, of the largest number of spikes into the core x hops.

    Raises InputError without directed edges.
    """
    indptr, targets, spikes = directed_edges(topology)
    return int(_delivered(indptr, targets, spikes, core_of_vertex, mesh.x, mesh.y))


def multicast_loads(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> NDArray[np.int64]:
    """
    [4, cores] spikes on the links east, west, north and south of each core if sources send along trees of XY routes.

    A link of a source's tree carries, once, the largest number of spikes into the cores behind it. Raises InputError
    without directed edges.
    """
    indptr, targets, spikes = directed_edges(topology)
    return _tree_loads(indptr, targets, spikes, core_of_vertex, mesh.width, mesh.cores)


def directed_edges(topology: Topology) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """The directed edges by source: row pointers, targets and spikes. Raises InputError if the topology has none."""
    if topology.src_indptr is None or topology.src_indices is None or topology.spikes is None:
        raise InputError(
            "multicast traffic needs directed edges, and this topology has only undirected ones: give src_indptr, "
            "src_indices and spikes, or choose another objective"
        )
    return topology.src_indptr, topology.src_indices, topology.spikes


@jit
def _reached(
    low: int,
    high: int,
    targets: NDArray[Any],
    spikes: NDArray[Any],
    core: NDArray[np.int32],
    largest: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """
    Write the cores of a row's targets to `found`, and the largest number of spikes into each to `largest` (-1
    elsewhere). Returns the number of these cores.
    """
    count = 0
    for k in range(low, high):
        there = core[targets[k]]
        if largest[there] < 0:
            found[count] = there
            count += 1
        largest[there] = max(largest[there], spikes[k])
    return count


@jit
def _delivered(
    indptr: NDArray[np.int64],
    targets: NDArray[Any],
    spikes: NDArray[Any],
    core: NDArray[np.int32],
    x: NDArray[np.int64],
    y: NDArray[np.int64],
) -> Any:
    largest = np.full(len(x), -1, np.int64)
    found = np.empty(len(x), np.int64)
    total = 0
    for source in range(len(indptr) - 1):
        home = core[source]
        count = _reached(indptr[source], indptr[source + 1], targets, spikes, core, largest, found)
        for position in range(count):
            there = found[position]
            total += largest[there] * (abs(x[there] - x[home]) + abs(y[there] - y[home]))
            largest[there] = -1
    return total


@jit
def _tree_loads(
    indptr: NDArray[np.int64],
    targets: NDArray[Any],
    spikes: NDArray[Any],
    core: NDArray[np.int32],
    width: int,
    cores: int,
) -> NDArray[np.int64]:
    largest = np.full(cores, -1, np.int64)
    found = np.empty(cores, np.int64)
    loads = np.zeros((4, cores), np.int64)
    carried = np.zeros((4, cores), np.int64)  # by the tree of the current source
    used = np.empty(4 * cores, np.int64)
    for source in range(len(indptr) - 1):
        home = core[source]
        home_x, home_y = home % width, home // width
        count = _reached(indptr[source], indptr[source + 1], targets, spikes, core, largest, found)
        links = 0
        for position in range(count):
            there = found[position]
            need = largest[there]
            largest[there] = -1
            at_x, at_y = there % width, there // width
            # From the target back to the source, up to a link that already carries as much; so do all links before it.
            while True:
                if at_y != home_y:
                    way, step_x, step_y = (SOUTH, 0, -1) if at_y > home_y else (NORTH, 0, 1)
                elif at_x != home_x:
                    way, step_x, step_y = (EAST, -1, 0) if at_x > home_x else (WEST, 1, 0)
                else:
                    break
                at_x, at_y = at_x + step_x, at_y + step_y
                router = at_y * width + at_x
                if carried[way, router] >= need:
                    break
                if carried[way, router] == 0:
                    used[links] = way * cores + router
                    links += 1
                carried[way, router] = need
        for position in range(links):
            way, router = used[position] // cores, used[position] % cores
            loads[way, router] += carried[way, router]
            carried[way, router] = 0
    return loads
