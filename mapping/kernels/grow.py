"""Growth of one side of a graph from a vertex."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from .heap import heap_fix, heap_make, heap_remove


@jit
def grow(indptr: Array, indices: Array, data: Array, size: Array, pull: Array, target: int, start: int) -> Array:
    """
    Side 0 or 1 of each vertex ([n] int8): side 0 grows from `start` by the vertex whose move costs least per unit of
    size, until it holds `target` of the size; it stops before a vertex if that is nearer to the target.

    The cost of a move is the weight of the vertex's edges to side 1, minus that of its edges to side 0, minus its
    `pull` [n] to side 0.
    """
    n = size.size
    side = np.ones(n, np.int8)
    cost = np.zeros(n, np.int64)
    for u in range(n):
        cost[u] = -pull[u]
        for k in range(indptr[u], indptr[u + 1]):
            cost[u] += data[k]
    heap = np.arange(n).astype(np.int32)
    position = np.empty(n, np.int32)
    heap_make(heap, position, cost, n)
    count = n
    grown = 0
    v = start
    while count > 0 and 2 * (target - grown) >= size[v] and grown < target:
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
