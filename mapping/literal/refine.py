"""Spec 4, S5: refinement by moving vertices to the parts that their edges lead to."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..kernels.random import random_order


def refine(graph: Graph, part: Array, parts: int, capacity: int, state: Array) -> int:
    """
    Visit every vertex once, in random order; changes `part` [n] in place. Returns the decrease of the cut.

    Moving v from part i to k costs w_i - w_k, where w_j is the weight of v's edges into part j. Of the moves that
    reduce the cut and whose target has free capacity, the one that reduces it most is made.
    """
    order = random_order(state, graph.vertices)
    return _pass(graph.indptr, graph.indices, graph.data, graph.size, part, parts, capacity, order)


@jit
def _pass(
    indptr: Array, indices: Array, data: Array, size: Array, part: Array, parts: int, capacity: int, order: Array
) -> int:
    load = np.zeros(parts, np.int64)
    for v in range(part.size):
        load[part[v]] += size[v]
    into = np.zeros(parts, np.int64)
    gained = 0
    for i in range(order.size):
        v = int(order[i])
        own = int(part[v])
        for k in range(indptr[v], indptr[v + 1]):
            into[part[indices[k]]] += data[k]
        best = own
        for k in range(indptr[v], indptr[v + 1]):
            p = int(part[indices[k]])
            if into[p] > into[best] and load[p] + size[v] <= capacity:
                best = p
        gained += into[best] - into[own]
        for k in range(indptr[v], indptr[v + 1]):
            into[part[indices[k]]] = 0
        if best != own:
            part[v] = best
            load[own] -= size[v]
            load[best] += size[v]
    return gained
