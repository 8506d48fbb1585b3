"""A graph whose vertices are renumbered in place."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from .graph import Graph


class Numbered:
    """
    A graph that is renumbered array by array, so that there are never two copies of it. It takes ownership: the caller
    must keep no other reference to the arrays.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = np.arange(graph.vertices, dtype=np.int32)
        """[n] original number of each vertex."""

    def number(self, order: Array) -> None:
        """Renumber the vertices in `order` ([n], of original numbers); the order of the entries in a row is kept."""
        rows = _inverse(self.order)[order]
        indptr, indices, data, size = self.graph.indptr, self.graph.indices, self.graph.data, self.graph.size[rows]
        # Each array is freed as soon as its replacement exists.
        del self.graph
        indices = _rows(indptr, indices, rows)
        _relabel(indices, _inverse(rows))
        data = _rows(indptr, data, rows)
        indptr = np.concatenate([[0], np.cumsum(np.diff(indptr)[rows])])
        self.graph = Graph(indptr, indices, data, size)
        self.order = order


def _inverse(order: Array) -> Array:
    """[n] int32: the index of each number in `order`."""
    inverse = np.empty(order.size, np.int32)
    inverse[order] = np.arange(order.size, dtype=np.int32)
    return inverse


@jit
def _rows(indptr: Array, values: Array, rows: Array) -> Array:
    """`values` [2 m] with the rows in the order `rows`."""
    taken = np.empty_like(values)
    out = 0
    for i in range(rows.size):
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            taken[out] = values[k]
            out += 1
    return taken


@jit
def _relabel(indices: Array, number: Array) -> None:
    """Replace the vertex numbers `indices` by their new numbers, in place."""
    for k in range(indices.size):
        indices[k] = number[indices[k]]
