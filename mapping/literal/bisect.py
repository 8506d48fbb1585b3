"""Spec 4, S3: bisection of a graph by greedy growth."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, cut_weight
from ..kernels.heap import heap_fix, heap_make, heap_remove
from ..kernels.random import random_below


def bisect(graph: Graph, target: int, state: Array, *, tries: int = 4) -> Array:
    """
    Side 0 or 1 of each vertex ([n] int8): side 0 grows from a random vertex until it holds `target` of the size.

    The bisection with the least cut of `tries` is returned.
    """
    best_cut = -1
    best = np.zeros(graph.vertices, np.int8)
    for _ in range(tries):
        start = random_below(state, graph.vertices)
        side = _grow(graph.indptr, graph.indices, graph.data, graph.size, target, start)
        cut = cut_weight(graph.indptr, graph.indices, graph.data, side)
        if best_cut < 0 or cut < best_cut:
            best_cut, best = cut, side
    return best


@jit
def _grow(indptr: Array, indices: Array, data: Array, size: Array, target: int, start: int) -> Array:
    """
    Side of each vertex; the selected vertices are side 0. The cost of a vertex is the weight of its edges to unselected
    vertices minus that of its edges to selected vertices.
    """
    n = size.size
    side = np.ones(n, np.int8)
    cost = np.zeros(n, np.int64)
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            cost[u] += data[k]
    heap = np.arange(n).astype(np.int32)
    position = np.empty(n, np.int32)
    heap_make(heap, position, cost, n)
    count = n
    grown = 0
    v = start
    while count > 0:
        # Stop before this vertex if that is nearer to the target than stopping after it.
        if 2 * (target - grown) < size[v] or grown >= target:
            break
        count = heap_remove(heap, position, cost, count, v)
        side[v] = 0
        grown += size[v]
        for k in range(indptr[v], indptr[v + 1]):
            u = indices[k]
            cost[u] -= 2 * data[k]
            if side[u] == 1:
                heap_fix(heap, position, cost, count, u)
        v = heap[0]
    return side
