"""
Multilevel bisection of a graph with little cost, including the attraction of vertices to either side.

The cost is the cut plus the pull of the vertices on side 1: `pull` [n] is the cost of a vertex on side 1 minus that on
side 0. The graph is coarsened along heavy edges; a side is grown from random vertices; the bisection is refined on
every level by passes of moves, which are undone back to the best prefix (Fiduccia and Mattheyses 1982).
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, cut_weight, merge_vertices
from ..kernels.grow import grow
from ..kernels.heap import heap_fix, heap_make, heap_remove
from ..kernels.random import random_below
from .cluster import heavy_pairs

_SMALL = 160
"""Graphs of fewer vertices are not merged further."""
TRIES = 4
"""Number of growths from random vertices, of which the one with the least cost is kept."""
PASSES = 6
"""Largest number of passes of refinement."""


def bisect(graph: Graph, pull: Array, limit: tuple[int, int], share: float, state: Array) -> Array:
    """
    Side 0 or 1 of each vertex ([n] int8).

    Side 0 holds about `share` of the size, neither side more than its `limit` (unless the sizes of the vertices make
    that impossible). The best of `TRIES` growths is kept.
    """
    total = int(graph.size.sum())
    largest = max(1, int(graph.size.max(initial=0)), total // 40)
    levels: list[tuple[Graph, Array, Array]] = []
    while graph.vertices > _SMALL:
        coarse_of, count = heavy_pairs(graph, largest, state)
        if count > 0.9 * graph.vertices:
            break
        levels.append((graph, pull, coarse_of))
        graph = merge_vertices(graph, coarse_of, count)
        pull = np.bincount(coarse_of, pull, count).round().astype(np.int64)
    side = _grown(graph, pull, limit, share, state)
    while levels:
        graph, pull, coarse_of = levels.pop()
        side = side[coarse_of]
        improve(graph, pull, limit, side)
    return side


def improve(graph: Graph, pull: Array, limit: tuple[int, int], side: Array) -> None:
    """Refine `side` in place."""
    _improve(graph.indptr, graph.indices, graph.data, graph.size, pull, limit[0], limit[1], side)


def _grown(graph: Graph, pull: Array, limit: tuple[int, int], share: float, state: Array) -> Array:
    target = int(graph.size.sum() * share)
    best = np.empty(0, np.int8)
    best_cost = (0, 0)
    for _ in range(TRIES):
        start = random_below(state, graph.vertices)
        side = grow(graph.indptr, graph.indices, graph.data, graph.size, pull, target, start)
        improve(graph, pull, limit, side)
        first = int(graph.size[side == 0].sum())
        excess = max(0, first - limit[0]) + max(0, int(graph.size.sum()) - first - limit[1])
        cut = cut_weight(graph.indptr, graph.indices, graph.data, side) + int(pull[side == 1].sum())
        if best.size == 0 or (excess, cut) < best_cost:
            best_cost, best = (excess, cut), side
    return best


@jit
def _improve(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    pull: Array,
    limit0: int,
    limit1: int,
    side: Array,
) -> None:
    n = size.size
    load = np.zeros(2, np.int64)
    for v in range(n):
        load[side[v]] += size[v]
    limit = np.array([limit0, limit1], np.int64)
    heaps = np.empty((2, n), np.int32)
    counts = np.zeros(2, np.int64)
    position = np.full(n, -1, np.int32)
    cost = np.empty(n, np.int64)
    moved = np.empty(n, np.int32)
    patience = max(30, n // 8)
    for _ in range(PASSES):
        counts[:] = 0
        for v in range(n):
            own = side[v]
            here = 0
            for k in range(indptr[v], indptr[v + 1]):
                here += data[k] if side[indices[k]] == own else -data[k]
            cost[v] = here + (pull[v] if own == 0 else -pull[v])
            heaps[own, counts[own]] = v
            counts[own] += 1
        heap_make(heaps[0], position, cost, counts[0])
        heap_make(heaps[1], position, cost, counts[1])
        done = 0
        total = 0
        best_total = 0
        best_done = 0
        over = max(0, load[0] - limit0) + max(0, load[1] - limit1)
        best_over = over
        while done - best_done < patience:
            # A move from a side over its limit, else the cheaper of the moves that fit.
            source = -1
            if load[0] > limit0 and counts[0] > 0:
                source = 0
            elif load[1] > limit1 and counts[1] > 0:
                source = 1
            else:
                for s in range(2):
                    if counts[s] == 0:
                        continue
                    v = heaps[s, 0]
                    if load[1 - s] + size[v] > limit[1 - s]:
                        continue
                    if source < 0 or cost[v] < cost[heaps[source, 0]]:
                        source = s
                if source < 0:
                    # Neither fits: set the larger vertex aside.
                    s = 0 if counts[0] > 0 else 1
                    if counts[0] > 0 and counts[1] > 0 and size[heaps[1, 0]] > size[heaps[0, 0]]:
                        s = 1
                    if counts[s] == 0:
                        break
                    v = heaps[s, 0]
                    counts[s] = heap_remove(heaps[s], position, cost, counts[s], v)
                    continue
            v = heaps[source, 0]
            counts[source] = heap_remove(heaps[source], position, cost, counts[source], v)
            total += cost[v]
            load[source] -= size[v]
            load[1 - source] += size[v]
            side[v] = 1 - source
            moved[done] = v
            done += 1
            for k in range(indptr[v], indptr[v + 1]):
                u = indices[k]
                if position[u] < 0:
                    continue
                s = side[u]
                cost[u] += -2 * data[k] if s == source else 2 * data[k]
                heap_fix(heaps[s], position, cost, int(counts[s]), int(u))
            over = max(0, load[0] - limit0) + max(0, load[1] - limit1)
            if over < best_over or (over == best_over and total < best_total):
                best_over = over
                best_total = total
                best_done = done
        for i in range(done - 1, best_done - 1, -1):
            v = moved[i]
            s = side[v]
            side[v] = 1 - s
            load[s] -= size[v]
            load[1 - s] += size[v]
        for v in range(n):
            position[v] = -1
        if best_done == 0:
            break
