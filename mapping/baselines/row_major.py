"""Baseline: vertices fill the cores, both in the order of their numbers."""

from __future__ import annotations

import numpy as np

from ..method import Mapping, MapRequest
from .packing import pack


def map_row_major(request: MapRequest) -> Mapping:
    """Fill one core after the other, row by row; nothing is optimised."""
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    with watch.step("pack"):
        order = np.arange(topology.vertices, dtype=np.int32)
        core_of = pack(topology.size, order, mesh.usable_cores, capacity)
    return Mapping(core_of, watch.seconds)
