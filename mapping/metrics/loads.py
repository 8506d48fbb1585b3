"""Loads of the cores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..topology.topology import Topology


def core_loads(size: NDArray[np.int64], cores: int, core_of_vertex: NDArray[np.int32]) -> NDArray[np.int64]:
    """[cores] sum of the sizes of the vertices on each core."""
    loads = np.zeros(cores, np.int64)
    # bincount adds doubles, which are exact up to 2^53 only.
    if size.size and int(size.sum()) < 1 << 53:
        return np.bincount(core_of_vertex, size, cores).astype(np.int64)
    np.add.at(loads, core_of_vertex, size)
    return loads


def imbalance(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> float:
    """Load of the fullest core divided by the mean load of the usable cores (1: even); 1 if all sizes are 0."""
    loads = core_loads(topology.size, mesh.cores, core_of_vertex)
    total = int(loads.sum())
    return int(loads.max()) * len(mesh.usable_cores) / total if total else 1.0
