"""Reduction of several limits of a core to one capacity: the size of a vertex is its largest share of any limit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InputError, MeshloomError
from .mesh import Mesh
from .method import default_capacity
from .topology.topology import Topology

MAX_LIMIT = 1 << 62
"""Largest limit: larger ones would overflow the 64-bit kernels."""

UNITS = 1 << 30
"""Capacity of a core if limits are combined: shares of a vertex are rounded up to multiples of 1 / UNITS."""


@dataclass(frozen=True)
class Limits:
    """Limits of a core; None: no limit."""

    size: int | None = None
    """Largest sum of the sizes (e.g. bytes) of a core's vertices."""
    vertices: int | None = None
    edges: int | None = None
    """Largest number of adjacent edges of a core's vertices; an edge between two of these counts twice."""

    def __post_init__(self) -> None:
        for name, value in (("size", self.size), ("vertices", self.vertices), ("edges", self.edges)):
            if value is not None and not 1 <= value <= MAX_LIMIT:
                raise InputError(f"a limit of {value} for {name}: expected 1 or more, at most 2^62")


def apply_limits(topology: Topology, mesh: Mesh, limits: Limits) -> tuple[Topology, int]:
    """
    A topology and a capacity such that every mapping within the capacity is within all limits.

    With a limit on sizes only (or without limits: ceil(1.05 x total size / usable cores)), the topology is unchanged.
    Otherwise the size of a vertex is its largest share of any limit, rounded up.

    Raises MeshloomError if the vertices cannot fit; the message states the need, the supply and a remedy.
    """
    size = limits.size
    if size is None and limits.vertices is None and limits.edges is None:
        size = max(default_capacity(topology.total_size, mesh), 1)
    demands: list[tuple[str, NDArray[np.int64], int]] = []
    if size is not None:
        demands.append(("size", topology.size, size))
    if limits.vertices is not None:
        demands.append(("vertices", np.ones(topology.vertices, np.int64), limits.vertices))
    if limits.edges is not None:
        demands.append(("edges", np.diff(topology.indptr), limits.edges))
    for name, demand, limit in demands:
        _check(name, demand, limit, mesh)
    if len(demands) == 1 and size is not None:
        return topology, size
    shares = np.max([-(-demand.astype(np.float64) * UNITS // limit) for _, demand, limit in demands], axis=0)
    shares = shares.astype(np.int64)
    if int(shares.sum()) > UNITS * len(mesh.usable_cores):
        raise MeshloomError(
            f"the vertices do not fit {len(mesh.usable_cores)} cores when each takes its largest share of the limits "
            f"({', '.join(name for name, _, _ in demands)}): raise the limits or use more cores"
        )
    return replace(topology, size=shares), UNITS


def _check(name: str, demand: NDArray[np.int64], limit: int, mesh: Mesh) -> None:
    cores = len(mesh.usable_cores)
    total, largest = int(demand.sum()), int(demand.max(initial=0))
    if total > limit * cores:
        raise MeshloomError(
            f"the network does not fit: it needs {total:,} of {name}, {cores} usable cores hold {limit:,} each, "
            f"{limit * cores:,} together; use {-(-total // limit):,} cores or more, or a limit of at least "
            f"{-(-total // cores):,}"
        )
    if largest > limit:
        raise MeshloomError(
            f"the network does not fit: vertex {int(demand.argmax())} alone takes {largest:,} of a core's {limit:,} "
            f"({name}); raise the limit to at least that"
        )
