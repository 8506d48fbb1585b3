"""Costs that are sums over edges: the cut, and weight times hops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit
from ..mesh import Mesh
from ..topology.topology import Topology


def cut(topology: Topology, core_of_vertex: NDArray[np.int32]) -> int:
    """Sum of the weights of the undirected edges whose ends are on different cores."""
    return int(_cut(topology.indptr, topology.indices, topology.data, core_of_vertex))


def hop_cost(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> int:
    """Sum over undirected edges of weight x hops."""
    return int(_hop_cost(topology.indptr, topology.indices, topology.data, core_of_vertex, mesh.x, mesh.y))


@jit
def _cut(indptr: NDArray[np.int64], indices: NDArray[Any], data: NDArray[Any], core: NDArray[np.int32]) -> int:
    total = 0
    for u in range(len(indptr) - 1):
        home = core[u]
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if v > u and core[v] != home:
                total += data[k]
    return total


@jit
def _hop_cost(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[Any],
    core: NDArray[np.int32],
    x: NDArray[np.int64],
    y: NDArray[np.int64],
) -> int:
    total = 0
    for u in range(len(indptr) - 1):
        home_x, home_y = x[core[u]], y[core[u]]
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if v > u:
                total += data[k] * (abs(x[core[v]] - home_x) + abs(y[core[v]] - home_y))
    return total
