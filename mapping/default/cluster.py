"""Coarsening methods that merge pairs of vertices along heavy edges, or clusters of vertices."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..kernels.random import random_order

_ROUNDS = 3
"""Largest number of rounds of label propagation."""

_FEW = 0.02
"""A round in which less than this share of the vertices change their cluster is the last one."""


def heavy_pairs(graph: Graph, size_limit: int, state: Array) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): each vertex is merged with the neighbour across its
    heaviest edge, among those that are not merged yet and for which the sum of both sizes is within `size_limit`.
    """
    order = random_order(state, graph.vertices)
    return _pairs(graph.indptr, graph.indices, graph.data, graph.size, size_limit, order)


def clusters(graph: Graph, size_limit: int, state: Array) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): in a few rounds, each vertex moves to the cluster to which
    its edges have the most weight and which stays within `size_limit` (label propagation with bounded sizes,
    Meyerhenke, Sanders and Schulz 2014).
    """
    n = graph.vertices
    label = np.arange(n, dtype=np.int32)
    held = graph.size.copy()
    for _ in range(_ROUNDS):
        order = random_order(state, n)
        moved = _propagate(graph.indptr, graph.indices, graph.data, graph.size, size_limit, order, label, held)
        if moved < _FEW * n:
            break
    return _number(label)


@jit
def _number(label: Array) -> tuple[Array, int]:
    """Number the labels in the order of their first occurrence."""
    n = label.size
    number = np.full(n, -1, np.int32)
    coarse_of = np.empty(n, np.int32)
    count = 0
    for v in range(n):
        if number[label[v]] < 0:
            number[label[v]] = count
            count += 1
        coarse_of[v] = number[label[v]]
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
def _propagate(
    indptr: Array, indices: Array, data: Array, size: Array, size_limit: int, order: Array, label: Array, held: Array
) -> int:
    """One round; returns the number of vertices that changed their label. `held` [n]: size of each label's vertices."""
    weight_to = np.zeros(order.size, np.int64)
    moved = 0
    for i in range(order.size):
        u = order[i]
        own = label[u]
        for k in range(indptr[u], indptr[u + 1]):
            weight_to[label[indices[k]]] += data[k]
        best = own
        for k in range(indptr[u], indptr[u + 1]):
            c = label[indices[k]]
            if weight_to[c] > weight_to[best] and held[c] + size[u] <= size_limit:
                best = c
        for k in range(indptr[u], indptr[u + 1]):
            weight_to[label[indices[k]]] = 0
        if best != own:
            held[own] -= size[u]
            held[best] += size[u]
            label[u] = best
            moved += 1
    return moved
