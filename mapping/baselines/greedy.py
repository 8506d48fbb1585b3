"""Baseline: greedy placement. The vertex with the heaviest edges to placed vertices is next, on the best free core."""

from __future__ import annotations

import numpy as np

from ...support.errors import MeshloomError
from ...support.jit import Array, jit
from ..kernels.heap import heap_fix, heap_remove, heap_up
from ..kernels.random import random_below, random_state
from ..method import Mapping, MapRequest


def map_greedy(request: MapRequest) -> Mapping:
    """
    Greedy construction of a mapping with few hops, from a random vertex.

    All usable cores are considered for each vertex. Raises MeshloomError if a vertex fits on no core.
    """
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    with watch.step("construct"):
        core_of, stuck = _construct(
            topology.indptr,
            topology.indices,
            topology.data,
            topology.size,
            mesh.usable_cores,
            mesh.x,
            mesh.y,
            capacity,
            random_state(request.seed),
        )
    if stuck >= 0:
        raise MeshloomError(
            f"greedy placement finds no core for vertex {stuck} of size {topology.size[stuck]}: raise the "
            f"capacity ({capacity}) or choose another method"
        )
    return Mapping(core_of, watch.seconds)


@jit
def _construct(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    cores: Array,
    x: Array,
    y: Array,
    capacity: int,
    state: Array,
) -> tuple[Array, int]:
    """(core of each vertex, -1), or (the cores so far, the vertex that fits on no core)."""
    n = len(size)
    core_of = np.full(n, -1, np.int32)
    load = np.zeros(len(cores), np.int64)
    heap = np.empty(n, np.int32)
    position = np.full(n, -1, np.int64)
    key = np.zeros(n, np.int64)  # minus the weight of the edges to placed vertices
    hops = np.empty(len(cores), np.int64)
    count = 0
    unseen = random_below(state, max(n, 1))
    for _ in range(n):
        if count == 0:  # start of another component
            while core_of[unseen] >= 0:
                unseen = (unseen + 1) % n
            vertex = unseen
        else:
            vertex = heap[0]
            count = heap_remove(heap, position, key, count, vertex)
        hops[:] = 0
        for k in range(indptr[vertex], indptr[vertex + 1]):
            there = core_of[indices[k]]
            if there >= 0:
                for c in range(len(cores)):
                    hops[c] += data[k] * (abs(x[cores[c]] - x[there]) + abs(y[cores[c]] - y[there]))
        best = -1
        for c in range(len(cores)):
            if load[c] + size[vertex] <= capacity and (best < 0 or hops[c] < hops[best]):
                best = c
        if best < 0:
            return core_of, vertex
        core_of[vertex] = cores[best]
        load[best] += size[vertex]
        for k in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[k]
            if core_of[other] >= 0:
                continue
            key[other] -= data[k]
            if position[other] < 0:
                heap_up(heap, position, key, other, count)
                count += 1
            else:
                heap_fix(heap, position, key, count, other)
    return core_of, -1
