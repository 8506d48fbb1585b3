"""Baseline: vertices in random order fill the cores one after the other."""

from __future__ import annotations

from ..kernels.random import random_order, random_state
from ..method import Mapping, MapRequest
from .packing import pack


def map_random(request: MapRequest) -> Mapping:
    """A random mapping within the capacity."""
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    with watch.step("pack"):
        order = random_order(random_state(request.seed), topology.vertices)
        core_of = pack(topology.size, order, mesh.usable_cores, capacity)
    return Mapping(core_of, watch.seconds)
