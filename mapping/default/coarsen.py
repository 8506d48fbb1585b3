"""Coarsening of a network in steps."""

from __future__ import annotations

from collections.abc import Callable

from ...support.jit import Array
from ..kernels.graph import Graph, merge_steps, merge_vertices
from .cluster import clusters

Merging = Callable[[Graph, int, Array], tuple[Array, int]]
"""(graph, size limit, state) -> (coarse vertex of each vertex, [n] int32; their number)"""


class Coarsening:
    """A network that is coarsened step by step; only the last graph is kept."""

    def __init__(self, network: Graph) -> None:
        self.network = network
        self.graph = network
        """The network after the merges so far."""
        self.steps: list[Array] = []
        """The merged vertex of each vertex, step by step from the network to the graph."""

    def merge(self, size_limit: int, state: Array, merging: Merging = clusters) -> list[Array]:
        """Merge vertices up to `size_limit` until their number hardly falls. Returns the steps."""
        before = len(self.steps)
        while True:
            coarse_of, count = merging(self.graph, size_limit, state)
            if count > 0.9 * self.graph.vertices:
                return self.steps[before:]
            self.steps.append(coarse_of)
            if self.graph.indices.size > self.network.indices.size // 2:
                # Merging the network itself takes longer, but the finer graph is freed before the coarser one is built.
                self.graph = self.network
                self.graph = merge_steps(self.network, self.steps)
            else:
                self.graph = merge_vertices(self.graph, coarse_of, count)

    def restore(self, steps: list[Array], graph: Graph) -> None:
        """Continue from `graph`, the result of `steps` applied to the present graph."""
        self.steps += steps
        self.graph = graph


def undo(levels: list[Array], of_coarse: Array) -> Array:
    """The values of merged vertices, `of_coarse`, for each vertex of the network."""
    for coarse_of in reversed(levels):
        of_coarse = of_coarse[coarse_of]
    return of_coarse
