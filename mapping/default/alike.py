"""
Coarsening by similarity: merges vertices with the same neighbours.

Neurons of a layer have no edges between them, but those at one position of a convolution, or of a dense layer, are best
placed on the same cores. Similarity is estimated by weighted minwise hashing (Broder 1997, Ioffe 2010): every vertex
draws a number from the exponential distribution, and a vertex's hash is the neighbour with the least ratio of number to
weight. The probability that two hashes are equal is the similarity of the neighbourhoods.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..kernels.random import random_unit

_HASHES = 3
"""
Number of hashes of a vertex: vertices with an equal first hash may be merged; the other hashes sort similar vertices
next to each other.
"""


def alike(graph: Graph, size_limit: int, state: Array) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): clusters of similar vertices, of size `size_limit` at most.
    """
    hashes = [_hash(graph.indptr, graph.indices, graph.data, state) for _ in range(_HASHES)]
    order = np.lexsort(hashes[::-1])
    return _runs(order, hashes[0], graph.size, size_limit)


@jit
def _hash(indptr: Array, indices: Array, data: Array, state: Array) -> Array:
    """Hash of each vertex, [n] int32; that of a vertex without neighbours is its own number."""
    n = indptr.size - 1
    drawn = np.empty(n)
    for v in range(n):
        drawn[v] = -np.log(1.0 - random_unit(state))
    found = np.empty(n, np.int32)
    for v in range(n):
        found[v] = v
        least = np.inf
        for k in range(indptr[v], indptr[v + 1]):
            if data[k] > 0 and drawn[indices[k]] < least * data[k]:
                least = drawn[indices[k]] / data[k]
                found[v] = indices[k]
    return found


@jit
def _runs(order: Array, first: Array, size: Array, size_limit: int) -> tuple[Array, int]:
    """Runs of vertices in `order` with equal `first`, cut where they would be larger than `size_limit`."""
    coarse_of = np.empty(order.size, np.int32)
    count = 0
    held = 0
    for i in range(order.size):
        v = order[i]
        if i == 0 or first[v] != first[order[i - 1]] or held + size[v] > size_limit:
            count += 1
            held = 0
        held += size[v]
        coarse_of[v] = count - 1
    return coarse_of, count
