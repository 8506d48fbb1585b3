"""Merge vertices for the coarser levels: pairs along heavy edges, or whole clusters at once."""

from __future__ import annotations

import numpy as np

from ....support.jit import Array, jit
from ..kernels.graph import Graph
from ..kernels.random import random_order


def heavy_pairs(graph: Graph, size_limit: int, state: Array) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): each vertex with the neighbour of the heaviest edge that is
    free and leaves their sum within `size_limit`.
    """
    order = random_order(state, graph.vertices)
    return _pairs(graph.indptr, graph.indices, graph.data, graph.size, size_limit, order)


def clusters(graph: Graph, size_limit: int, state: Array, *, within: Array | None = None) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): vertices join the cluster of the neighbours that they have
    most weight to, as long as it stays within `size_limit`.

    With `within` [n], only vertices of equal `within` come together: a mapping survives the merge.
    """
    order = random_order(state, graph.vertices)
    group = np.zeros(graph.vertices, np.int32) if within is None else within
    return _clusters(graph.indptr, graph.indices, graph.data, graph.size, size_limit, order, group)


@jit
def _number(leader: Array) -> tuple[Array, int]:
    """Number the leaders in ascending order."""
    n = leader.size
    number = np.full(n, -1, np.int32)
    count = 0
    for v in range(n):
        if leader[v] == v:
            number[v] = count
            count += 1
    coarse_of = np.empty(n, np.int32)
    for v in range(n):
        coarse_of[v] = number[leader[v]]
    return coarse_of, count


@jit
def _pairs(indptr: Array, indices: Array, data: Array, size: Array, size_limit: int, order: Array) -> tuple[Array, int]:
    n = order.size
    leader = np.full(n, -1, np.int32)
    for i in range(n):
        u = order[i]
        if leader[u] >= 0:
            continue
        heaviest = -1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if leader[v] < 0 and v != u and (heaviest < 0 or data[k] > data[heaviest]):
                if size[u] + size[v] <= size_limit:
                    heaviest = k
        leader[u] = u
        if heaviest >= 0:
            leader[indices[heaviest]] = u
    return _number(leader)


@jit
def _clusters(
    indptr: Array, indices: Array, data: Array, size: Array, size_limit: int, order: Array, within: Array
) -> tuple[Array, int]:
    n = order.size
    leader = np.arange(n).astype(np.int32)
    held = size.copy()
    alone = np.ones(n, np.bool_)
    weight_to = np.zeros(n, np.int64)
    for i in range(n):
        u = order[i]
        if not alone[u]:
            continue
        best = u
        best_weight = 0
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if within[v] != within[u]:
                continue
            c = leader[v]
            weight_to[c] += data[k]
            if weight_to[c] > best_weight and c != u and held[c] + size[u] <= size_limit:
                best = c
                best_weight = weight_to[c]
        for k in range(indptr[u], indptr[u + 1]):
            weight_to[leader[indices[k]]] = 0
        if best != u:
            leader[u] = best
            held[best] += size[u]
            alone[u] = False
            alone[best] = False
    return _number(leader)
