"""Spec 4, S3: bisection of a graph by greedy growth."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, cut_weight
from ..kernels.grow import grow
from ..kernels.random import random_below


def bisect(graph: Graph, target: int, state: Array, *, tries: int = 4) -> Array:
    """
    Side 0 or 1 of each vertex ([n] int8): side 0 grows from a random vertex until it holds `target` of the size.

    The bisection with the least cut of `tries` is returned.
    """
    no_pull = np.zeros(graph.vertices, np.int64)
    best_cut = -1
    best = np.zeros(graph.vertices, np.int8)
    for _ in range(tries):
        start = random_below(state, graph.vertices)
        side = grow(graph.indptr, graph.indices, graph.data, graph.size, no_pull, target, start)
        cut = cut_weight(graph.indptr, graph.indices, graph.data, side)
        if best_cut < 0 or cut < best_cut:
            best_cut, best = cut, side
    return best
