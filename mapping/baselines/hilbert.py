"""
Baseline: clusters along a Hilbert curve, then swaps of neighbouring cores that reduce hops.

After "Mapping Very Large Scale Spiking Neuron Network to Neuromorphic Hardware" (ASPLOS 2023): the sequence of vertices
in topological order is cut into clusters, which are placed along a space-filling curve; forces between clusters decide
which neighbours are swapped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...support.jit import Array, jit
from ..kernels.graph import Graph, merge_vertices
from ..mesh import Mesh
from ..method import Effort, Mapping, MapRequest
from ..topology.topology import Topology
from .packing import pack

SWEEPS = {Effort.FAST: 4, Effort.NORMAL: 64, Effort.HIGH: 1024}
"""Largest number of passes over all pairs of neighbouring cores."""


def map_hilbert(request: MapRequest) -> Mapping:
    """Map by clusters along a Hilbert curve, then by forces on the clusters, for few hops."""
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    with watch.step("order"):
        order = vertex_order(topology)
    with watch.step("curve"):
        curve = hilbert_order(mesh)
        core_of = pack(topology.size, order, curve, capacity)
    with watch.step("force"):
        graph = merge_vertices(
            Graph(topology.indptr, topology.indices, topology.data.astype(np.int64), topology.size), core_of, mesh.cores
        )
        position = np.arange(mesh.cores, dtype=np.int32)
        swap_neighbours(graph, position, mesh, SWEEPS[request.effort])
    return Mapping(position[core_of], watch.seconds)


def vertex_order(topology: Topology) -> NDArray[np.int32]:
    """All vertices: in topological order if there are directed edges without a cycle, else breadth first."""
    if topology.src_indptr is not None and topology.src_indices is not None:
        order = _topological(topology.src_indptr, topology.src_indices)
        if len(order) == topology.vertices:
            return order
    return _breadth_first(topology.indptr, topology.indices)


def hilbert_order(mesh: Mesh) -> NDArray[np.int32]:
    """The usable cores in the order of a Hilbert curve over the smallest square of a power of two around the mesh."""
    bits = max(mesh.width - 1, mesh.height - 1, 1).bit_length()
    cores = mesh.usable_cores.astype(np.int64)
    x, y = cores % mesh.width, cores // mesh.width
    along = np.zeros_like(cores)
    for bit in reversed(range(bits)):
        right, lower = x >> bit & 1, y >> bit & 1
        along = along * 4 + ((3 * right) ^ lower)
        # Rotate the quadrant so that the curve in it begins and ends at its corners.
        flip = (lower == 0) & (right == 1)
        side = (1 << bit) - 1
        x, y = np.where(flip, side - (x & side), x & side), np.where(flip, side - (y & side), y & side)
        x, y = np.where(lower == 0, y, x), np.where(lower == 0, x, y)
    return mesh.usable_cores[np.argsort(along, kind="stable")]


def swap_neighbours(graph: Graph, position: NDArray[np.int32], mesh: Mesh, sweeps: int) -> None:
    """
    Swap clusters on neighbouring usable cores while this lowers the sum of weight x hops.

    `position` [cores]: the core of each cluster (also of clusters without vertices); changed in place.
    """
    at = np.empty_like(position)
    at[position] = np.arange(mesh.cores, dtype=np.int32)
    _swap(graph.indptr, graph.indices, graph.data, position, at, mesh.usable, mesh.x, mesh.y, mesh.width, sweeps)


@jit
def _swap(
    indptr: Array,
    indices: Array,
    data: Array,
    position: Array,
    at: Array,
    usable: Array,
    x: Array,
    y: Array,
    width: int,
    sweeps: int,
) -> None:
    for _ in range(sweeps):
        swapped = False
        for a in range(len(position)):
            for way in range(2):
                b = a + 1 if way == 0 else a + width
                if b >= len(position) or (way == 0 and b % width == 0) or not (usable[a] and usable[b]):
                    continue
                change = 0
                for side in range(2):
                    here, there = (a, b) if side == 0 else (b, a)
                    own, other = at[here], at[there]
                    for k in range(indptr[own], indptr[own + 1]):
                        if indices[k] != other:
                            c = position[indices[k]]
                            change += data[k] * (abs(x[there] - x[c]) - abs(x[here] - x[c]))
                            change += data[k] * (abs(y[there] - y[c]) - abs(y[here] - y[c]))
                if change < 0:
                    at[a], at[b] = at[b], at[a]
                    position[at[a]] = a
                    position[at[b]] = b
                    swapped = True
        if not swapped:
            break


@jit
def _topological(indptr: Array, targets: Array) -> Array:
    """The vertices in topological order (Kahn's algorithm), sources by number; incomplete if there is a cycle."""
    n = len(indptr) - 1
    waiting = np.zeros(n, np.int64)
    for k in range(len(targets)):
        waiting[targets[k]] += 1
    order = np.empty(n, np.int32)
    count = 0
    for u in range(n):
        if waiting[u] == 0:
            order[count] = u
            count += 1
    done = 0
    while done < count:
        u = order[done]
        done += 1
        for k in range(indptr[u], indptr[u + 1]):
            waiting[targets[k]] -= 1
            if waiting[targets[k]] == 0:
                order[count] = targets[k]
                count += 1
    return order[:count]


@jit
def _breadth_first(indptr: Array, indices: Array) -> Array:
    """Breadth first from a far end of each component."""
    n = len(indptr) - 1
    order = np.empty(n, np.int32)
    seen = np.zeros(n, np.int8)
    first = 0
    for u in range(n):
        if seen[u] == 2:
            continue
        start, count = u, first
        for mark in range(1, 3):  # the last vertex of a breadth-first search is a far end: start again from it
            order[first] = start
            seen[start] = mark
            count = first + 1
            done = first
            while done < count:
                v = order[done]
                done += 1
                for k in range(indptr[v], indptr[v + 1]):
                    if seen[indices[k]] < mark:
                        seen[indices[k]] = mark
                        order[count] = indices[k]
                        count += 1
            start = order[count - 1]
        first = count
    return order
