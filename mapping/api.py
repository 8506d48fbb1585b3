"""
The public functions of the package `meshloom.mapping`, which maps networks onto meshes of cores.

    import meshloom.mapping as mapping

    cores = mapping.map_network(matrix, "16x16")          # a SciPy sparse matrix: weights of edges
    print(mapping.costs(matrix, "16x16", cores).hop_cost)
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..chips import Chip, load_chip
from ..frontend.topology.read import read_topology
from ..support.arguments import check_argument
from ..support.errors import InputError
from .limits import Limits, apply_limits
from .mesh import Mesh
from .method import Effort, Mapping, MapRequest, Objective, Watch
from .methods import METHODS, find_method
from .metrics.costs import Costs, costs_of
from .topology.topology import Topology, from_directed, make_topology

__all__ = [
    "METHODS",
    "Costs",
    "Effort",
    "Mapping",
    "Mesh",
    "Objective",
    "Topology",
    "costs",
    "from_directed",
    "make_topology",
    "map_network",
    "map_with_steps",
    "read_topology",
]

Choice = TypeVar("Choice", Objective, Effort)


def map_network(
    network: Any,
    mesh: Mesh | Chip | str,
    *,
    size: Any = None,
    capacity: int | None = None,
    max_vertices: int | None = None,
    max_edges: int | None = None,
    method: str = "default",
    objective: str = "hops",
    effort: str = "normal",
    seed: int = 0,
) -> NDArray[np.int32]:
    """
    Map a network onto a mesh. Returns the core of each vertex, [vertices] int32; core number = y * width + x.

    `network`: a `Topology`; a symmetric SciPy sparse matrix [vertices, vertices] of non-negative integers (weights of
    undirected edges); a square matrix that is not symmetric (entry (u, v): spikes from u to v in a run); or the CSR
    arrays of a symmetric matrix, a tuple (indptr [n + 1], indices [2 m], data [2 m]).
    `mesh`: a `Mesh`, a `Chip`, the name of a chip, or "WIDTHxHEIGHT".
    `size`: [vertices] the part of a core's capacity that each vertex takes (by default 1), in any unit, e.g. bytes.
    `capacity`: largest sum of sizes on a core (None: ceil(1.05 x total size / usable cores)); `max_vertices` and
    `max_edges`: at most as many vertices and adjacent edges on a core (None: any number).
    `method`: one of `METHODS`; `objective`: "hops", "multicast" or "cycles" (both need directions), "link" or "cut";
    `effort`: "fast", "normal" or "high". The same arguments give the same mapping.

    Raises InputError for malformed arguments, MeshloomError if the network does not fit.
    """
    mapping = map_with_steps(
        network,
        mesh,
        size=size,
        capacity=capacity,
        max_vertices=max_vertices,
        max_edges=max_edges,
        method=method,
        objective=objective,
        effort=effort,
        seed=seed,
    )
    return mapping.core_of_vertex


def map_with_steps(
    network: Any,
    mesh: Mesh | Chip | str,
    *,
    size: Any = None,
    capacity: int | None = None,
    max_vertices: int | None = None,
    max_edges: int | None = None,
    method: str = "default",
    objective: str = "hops",
    effort: str = "normal",
    seed: int = 0,
    watch: Watch | None = None,
) -> Mapping:
    """
    As `map_network`, but also returns the CPU seconds of each step; `watch` is called for each step and may store its
    results.
    """
    for name, limit in (("capacity", capacity), ("max_vertices", max_vertices), ("max_edges", max_edges)):
        check_argument(name, limit, (int, np.integer), "a number", none=True)
    check_argument("seed", seed, (int, np.integer), "a number")
    target = _mesh(mesh)
    topology, limit = apply_limits(_topology(network, size), target, Limits(capacity, max_vertices, max_edges))
    return find_method(method)(
        MapRequest(
            topology,
            target,
            limit,
            objective=_choice(Objective, objective, "objective"),
            effort=_choice(Effort, effort, "effort"),
            seed=seed,
            watch=watch or Watch(),
        )
    )


def costs(network: Any, mesh: Mesh | Chip | str, core_of_vertex: Any, *, size: Any = None) -> Costs:
    """
    All costs of a mapping: cut, hops, delivered traffic, loads; see `Costs` for their units.

    `network`, `mesh` and `size` as in `map_network`; `core_of_vertex`: [vertices] core numbers.

    Raises InputError if they do not match.
    """
    array: NDArray[Any] = np.asarray(core_of_vertex)
    if array.dtype.kind not in "iu":
        raise InputError(f"core_of_vertex has elements of type {array.dtype}, expected integers")
    return costs_of(_topology(network, size), _mesh(mesh), array.astype(np.int32))


def _mesh(mesh: Mesh | Chip | str) -> Mesh:
    if isinstance(mesh, Mesh):
        return mesh
    if isinstance(mesh, Chip):
        return Mesh.of_chip(mesh)
    check_argument("mesh", mesh, (str,), "a Mesh, a Chip, the name of a chip or WIDTHxHEIGHT")
    if mesh[:1].isdecimal():
        return Mesh.parse(mesh)
    return Mesh.of_chip(load_chip(mesh))


def _topology(network: Any, size: Any) -> Topology:
    if isinstance(network, Topology):
        if size is not None:
            raise InputError("a Topology has sizes of its own: leave `size` out")
        return network
    if isinstance(network, tuple):
        count = len(cast("tuple[Any, ...]", network))
        if count not in (2, 3):
            raise InputError(f"a network of {count} arrays: expected (indptr, indices) or (indptr, indices, data)")
        return make_topology(*cast("tuple[Any, ...]", network), size=size)
    if not hasattr(network, "tocsr"):
        raise InputError(
            f"a network is a Topology, a SciPy sparse matrix or (indptr, indices, data), not {type(network).__name__}"
        )
    matrix: Any = network.tocsr()
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the matrix is {matrix.shape[0]} x {matrix.shape[1]}, expected a square matrix")
    build = make_topology if (matrix != matrix.T).nnz == 0 else from_directed
    return build(matrix.indptr, matrix.indices, matrix.data, size=size)


def _choice(kind: type[Choice], value: str, name: str) -> Choice:
    try:
        return kind(value)
    except ValueError as error:
        raise InputError(f"{name} '{value}': choose one of {', '.join(kind)}") from error
