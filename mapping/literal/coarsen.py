"""Spec 4, S2: coarsening by merging pairs of vertices along their heaviest edges."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, merge_vertices
from ..kernels.random import random_order


def coarsen(graph: Graph, size_limit: int, state: Array, *, tries: int = 4) -> tuple[Graph, Array]:
    """
    Coarsen by one level. Returns the merged graph, and the merged vertex of each vertex ([n] int32).

    The vertices are visited `tries` times in random orders; the visit whose pairs remove the most edge weight is kept.
    The heaviest edge of a vertex is chosen among those whose ends may be paired; otherwise coarsening would stop long
    before sizes reach the limit.
    """
    best_weight = -1
    best = np.empty(0, np.int32)
    for _ in range(tries):
        order = random_order(state, graph.vertices)
        partner, weight = _pairs(graph.indptr, graph.indices, graph.data, graph.size, size_limit, order)
        if weight > best_weight:
            best_weight, best = weight, partner
    coarse_of, count = _number(best)
    return merge_vertices(graph, coarse_of, count), coarse_of


@jit
def _pairs(indptr: Array, indices: Array, data: Array, size: Array, size_limit: int, order: Array) -> tuple[Array, int]:
    """(partner of each vertex, itself if it has none; weight of the edges between partners)"""
    partner = np.arange(order.size).astype(np.int32)
    removed = 0
    for u in order:
        if partner[u] != u:
            continue
        heaviest = -1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if (heaviest < 0 or data[k] > data[heaviest]) and partner[v] == v and size[u] + size[v] <= size_limit:
                heaviest = k
        if heaviest >= 0:
            partner[u] = indices[heaviest]
            partner[indices[heaviest]] = u
            removed += data[heaviest]
    return partner, removed


@jit
def _number(partner: Array) -> tuple[Array, int]:
    """Number pairs and single vertices in the order of their first members."""
    coarse_of = np.empty(partner.size, np.int32)
    count = 0
    for v in range(partner.size):
        if partner[v] < v:
            coarse_of[v] = coarse_of[partner[v]]
        else:
            coarse_of[v] = count
            count += 1
    return coarse_of, count
