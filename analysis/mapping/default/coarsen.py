"""Merge a graph level by level."""

from __future__ import annotations

from collections.abc import Callable

from ....support.jit import Array
from ..kernels.graph import Graph, merge_vertices
from .cluster import clusters

Merging = Callable[[Graph, int, Array], tuple[Array, int]]
"""(graph, size limit, state) -> (coarse vertex of each vertex, [n] int32; their number)"""


def coarsen(graph: Graph, size_limit: int, state: Array, merging: Merging = clusters) -> tuple[list[Array], Graph]:
    """(merged vertex of each vertex, level by level from the finest; the coarsest graph)"""
    levels: list[Array] = []
    while True:
        coarse_of, count = merging(graph, size_limit, state)
        if count > 0.9 * graph.vertices:
            return levels, graph
        levels.append(coarse_of)
        graph = merge_vertices(graph, coarse_of, count)


def undo(levels: list[Array], of_coarse: Array) -> Array:
    """What each vertex has, from what its merged vertex has."""
    for coarse_of in reversed(levels):
        of_coarse = of_coarse[coarse_of]
    return of_coarse
