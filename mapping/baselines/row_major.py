"""Baseline: vertices in the order of their numbers, cores in the order of theirs."""

from __future__ import annotations

import numpy as np

from ..mesh import Mesh
from ..method import Effort, Mapping, Objective, Watch
from ..topology.topology import Topology
from .packing import pack


def map_row_major(
    topology: Topology,
    mesh: Mesh,
    capacity: int,
    *,
    objective: Objective = Objective.HOPS,
    effort: Effort = Effort.NORMAL,
    seed: int = 0,
    watch: Watch | None = None,
) -> Mapping:
    """Fill core after core, row by row; nothing is optimised. See `mapping.MapMethod` for the arguments."""
    del objective, effort, seed
    watch = watch or Watch()
    with watch.step("pack"):
        order = np.arange(topology.vertices, dtype=np.int32)
        core_of = pack(topology.size, order, mesh.usable_cores, capacity)
    return Mapping(core_of, watch.seconds)
