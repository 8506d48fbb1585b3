"""All costs of a mapping, and a check of mappings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ..mesh import Mesh
from ..topology.topology import Topology
from .edge_costs import cut, hop_cost
from .links import unicast_loads
from .loads import core_loads
from .multicast import delivered_traffic, multicast_loads


@dataclass(frozen=True)
class Costs:
    """The costs of a mapping; sums in units of the weights (spikes, or bytes, per run)."""

    vertices: int
    edges: int
    """Number of undirected edges."""
    cores: int
    """Number of usable cores."""
    used_cores: int
    """Number of cores that hold vertices."""
    cut: int
    """Weight of the undirected edges between different cores."""
    hop_cost: int
    """Sum over undirected edges of weight x hops."""
    delivered_traffic: int | None
    """
    Sum over sources, and other cores with targets, of the largest number of spikes x hops; None without directed edges.
    """
    tree_traffic: int | None
    """Traffic along XY trees, in which every link of a source's tree counts once; None without directed edges."""
    max_link_load: float
    """Load of the busiest link if each edge is a message (XY routing, with a link for each direction)."""
    max_tree_link_load: int | None
    """Load of the busiest link if sources send along trees; None without directed edges."""
    max_load: int
    """Sum of the sizes on the fullest core."""
    imbalance: float
    """`max_load` divided by the mean load of the usable cores."""

    def as_dict(self) -> dict[str, Any]:
        """The costs as plain data for JSON."""
        return asdict(self)


def costs_of(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> Costs:
    """
    All costs of a mapping ([vertices] core numbers).

    Raises InputError if the mapping does not match the topology and the mesh.
    """
    check_mapping(topology, mesh, core_of_vertex)
    delivered = tree = tree_link = None
    if topology.src_indptr is not None:
        delivered = delivered_traffic(topology, mesh, core_of_vertex)
        loads = multicast_loads(topology, mesh, core_of_vertex)
        tree_link = int(loads.max())
        tree = int((loads * link_costs(mesh)).sum())
    busiest = float(unicast_loads(topology, mesh, core_of_vertex).max())
    loads = core_loads(topology.size, mesh.cores, core_of_vertex)
    total, usable = int(loads.sum()), len(mesh.usable_cores)
    return Costs(
        vertices=topology.vertices,
        edges=topology.edges,
        cores=usable,
        used_cores=int(np.count_nonzero(np.bincount(core_of_vertex, minlength=mesh.cores))),
        cut=cut(topology, core_of_vertex),
        hop_cost=hop_cost(topology, mesh, core_of_vertex),
        delivered_traffic=delivered,
        tree_traffic=tree,
        max_link_load=int(busiest) if busiest.is_integer() else busiest,
        max_tree_link_load=tree_link,
        max_load=int(loads.max()),
        imbalance=int(loads.max()) * usable / total if total else 1.0,
    )


def link_costs(mesh: Mesh) -> NDArray[np.int64]:
    """[4, cores] hops of the links east, west, north and south of each core; 0 if there is no link."""
    x, y = mesh.x.reshape(mesh.height, mesh.width), mesh.y.reshape(mesh.height, mesh.width)
    costs = np.zeros((4, mesh.height, mesh.width), np.int64)
    costs[0, :, :-1] = costs[1, :, 1:] = np.diff(x, axis=1)
    costs[3, :-1] = costs[2, 1:] = np.diff(y, axis=0)
    return costs.reshape(4, mesh.cores)


def check_mapping(topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32]) -> None:
    """Raises InputError unless every vertex is on a usable core of the mesh."""
    if core_of_vertex.shape != (topology.vertices,):
        raise InputError(
            f"the mapping has shape {core_of_vertex.shape}, the topology {topology.vertices} vertices: expected a core "
            f"for each"
        )
    if core_of_vertex.size == 0:
        return
    low, high = int(core_of_vertex.min()), int(core_of_vertex.max())
    if low < 0 or high >= mesh.cores:
        raise InputError(f"the mapping has core {low if low < 0 else high}: cores of {mesh} are 0 to {mesh.cores - 1}")
    wrong = np.flatnonzero(~mesh.usable[core_of_vertex])
    if wrong.size:
        vertex = int(wrong[0])
        raise InputError(f"the mapping has vertex {vertex} on core {core_of_vertex[vertex]}, which is not usable")
