"""Simple reference implementations of costs, the oracle of the kernels' tests; random graphs and meshes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.topology.topology import Topology, from_directed
from numpy.typing import NDArray

Cores = NDArray[np.int32]


def hops_between(mesh: Mesh, a: int, b: int) -> int:
    """Sum of the costs of the columns and rows between two cores."""
    columns = mesh.column_costs or (1,) * (mesh.width - 1)
    rows = mesh.row_costs or (1,) * (mesh.height - 1)
    low_x, high_x = sorted((a % mesh.width, b % mesh.width))
    low_y, high_y = sorted((a // mesh.width, b // mesh.width))
    return sum(columns[low_x:high_x]) + sum(rows[low_y:high_y])


def hop_cost(topology: Topology, mesh: Mesh, core_of: Cores) -> int:
    """Sum over undirected edges of weight x hops."""
    total = 0
    for u in range(topology.vertices):
        for k in range(topology.indptr[u], topology.indptr[u + 1]):
            v = int(topology.indices[k])
            if u < v:
                total += int(topology.data[k]) * hops_between(mesh, int(core_of[u]), int(core_of[v]))
    return total


def cut(topology: Topology, core_of: Cores) -> int:
    """Sum of the weights of edges between cores."""
    rows = np.repeat(np.arange(topology.vertices), np.diff(topology.indptr))
    return sum(
        int(w)
        for u, v, w in zip(rows, topology.indices, topology.data, strict=True)
        if u < v and core_of[u] != core_of[v]
    )


def delivered(topology: Topology, mesh: Mesh, core_of: Cores) -> int:
    """Sum over sources and cores with targets of hops times the largest number of spikes to a target on the core."""
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    total = 0
    for u in range(topology.vertices):
        largest: dict[int, int] = {}
        for k in range(topology.src_indptr[u], topology.src_indptr[u + 1]):
            core = int(core_of[topology.src_indices[k]])
            largest[core] = max(largest.get(core, 0), int(topology.spikes[k]))
        total += sum(spikes * hops_between(mesh, int(core_of[u]), core) for core, spikes in largest.items())
    return total


def random_network(seed: int, vertices: int, edges: int, most: int = 9, size: int = 1) -> Topology:
    """Directed edges between random vertices, with 0 to `most` spikes; vertices of size 1 to `size`."""
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, vertices * vertices, edges)) if vertices else np.empty(0, np.int64)
    sources, targets = pairs // max(1, vertices), pairs % max(1, vertices)
    indptr = np.zeros(vertices + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=vertices), out=indptr[1:])
    return from_directed(indptr, targets, rng.integers(0, most + 1, pairs.size), rng.integers(1, size + 1, vertices))


def grid_network(side: int, seed: int) -> Topology:
    """A grid: every vertex sends 3 spikes to its right and lower neighbours; vertices are numbered at random."""
    number = np.random.default_rng(seed).permutation(side * side).reshape(side, side)
    sources = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    targets = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    order = np.argsort(sources, kind="stable")
    indptr = np.zeros(side * side + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=side * side), out=indptr[1:])
    return from_directed(indptr, targets[order], np.full(order.size, 3))


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    """Small meshes, some with holes, some of several chips."""
    width, height = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    if draw(st.booleans()):
        mesh = Mesh(width, height).array(draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 4)))
    else:
        mesh = Mesh(width, height)
    holes = draw(st.lists(st.integers(0, mesh.cores - 1), max_size=mesh.cores - 1, unique=True))
    return mesh.without(holes)


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Small networks, also empty and disconnected ones."""
    vertices = draw(st.integers(0, 60))
    return random_network(
        draw(st.integers(0, 1000)), vertices, draw(st.integers(0, 200)) if vertices else 0, size=draw(st.integers(1, 3))
    )
