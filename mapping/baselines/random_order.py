"""Baseline: vertices in random order fill the cores one after the other."""

from __future__ import annotations

from ..kernels.random import random_order, random_state
from ..mesh import Mesh
from ..method import Effort, Mapping, Objective, Watch
from ..topology.topology import Topology
from .packing import pack


def map_random(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    *,
    objective: Objective = Objective.HOPS,
    effort: Effort = Effort.NORMAL,
    seed: int = 0,
    watch: Watch | None = None,
) -> Mapping:
    """A random mapping that keeps to the capacity. See `mapping.MapMethod` for the arguments."""
    del objective, effort
    watch = watch or Watch()
    with watch.step("pack"):
        order = random_order(random_state(seed), topology.vertices)
        core_of = pack(topology.size, order, mesh.usable_cores, capacity)
    return Mapping(core_of, watch.seconds)
