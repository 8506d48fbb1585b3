"""Graphs that methods of mapping work on: merging of vertices, induced subgraphs, cut weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...support.jit import Array, jit


@dataclass(frozen=True)
class Graph:
    """An undirected weighted graph in CSR: that of a topology, or the result of merging its vertices."""

    indptr: Array
    """[n + 1] int64"""
    indices: Array
    """[2 m] int32"""
    data: Array
    """[2 m] weights, int32 (int64 if their sum requires it)"""
    size: Array
    """[n] int64"""

    @property
    def vertices(self) -> int:
        """Number of vertices, n."""
        return self.size.size


def merge_vertices(graph: Graph, coarse_of: Array, count: int) -> Graph:
    """Merge vertices of equal `coarse_of` [n], numbers 0 .. count - 1: sizes add, weights of parallel edges add."""
    start, members = group_members(coarse_of, count)
    return _merged(graph, coarse_of, start, members)


def merge_steps(graph: Graph, steps: Sequence[Array]) -> Graph:
    """
    Merge vertices in several steps, each of which gives the merged vertex of each vertex of the graph before it. The
    result is the same, including the order of its entries, as by `merge_vertices` for each step, but the graphs between
    take no memory.
    """
    if not steps:
        return graph
    coarse_of = np.arange(graph.vertices, dtype=np.int32)
    # Lexicographic order of the merged numbers, last step first.
    start, order = np.empty(0, np.int64), coarse_of
    for step in steps:
        coarse_of = step[coarse_of]
        start, again = group_members(coarse_of[order], int(step.max()) + 1)
        order = order[again]
    return _merged(graph, coarse_of, start, order)


def _merged(graph: Graph, coarse_of: Array, start: Array, members: Array) -> Graph:
    return Graph(*_merge(graph.indptr, graph.indices, graph.data, graph.size, coarse_of, start, members))


def induced(graph: Graph, vertices: Array, local: Array) -> Graph:
    """
    The subgraph induced by `vertices`, numbered in their order. `local` [n] int32 is scratch, -1 before and after.
    """
    indptr, indices, data = _induced(graph.indptr, graph.indices, graph.data, vertices, local)
    return Graph(indptr, indices, data, graph.size[vertices])


@jit
def group_members(group: Array, count: int) -> tuple[Array, Array]:
    """Rows of a table group -> members: (start [count + 1] int64, members [n] int32, ascending within a group)."""
    start = np.zeros(count + 1, np.int64)
    for v in range(group.size):
        start[group[v] + 1] += 1
    for g in range(count):
        start[g + 1] += start[g]
    at = start[:-1].copy()
    members = np.empty(group.size, np.int32)
    for v in range(group.size):
        members[at[group[v]]] = v
        at[group[v]] += 1
    return start, members


@jit
def _merge(
    indptr: Array, indices: Array, data: Array, size: Array, coarse_of: Array, start: Array, members: Array
) -> tuple[Array, Array, Array, Array]:
    count = start.size - 1
    new_size = np.zeros(count, np.int64)
    new_indptr = np.zeros(count + 1, np.int64)
    # The arrays are as long as those of the graph, but only pages that are written take memory.
    new_indices = np.empty(indices.size, np.int32)
    new_data = np.empty(indices.size, data.dtype)
    position = np.full(count, -1, np.int64)
    out = 0
    for c in range(count):
        first = out
        for at in range(start[c], start[c + 1]):
            u = members[at]
            new_size[c] += size[u]
            for k in range(indptr[u], indptr[u + 1]):
                d = coarse_of[indices[k]]
                if d == c:
                    continue
                if position[d] >= first:
                    new_data[position[d]] += data[k]
                else:
                    position[d] = out
                    new_indices[out] = d
                    new_data[out] = data[k]
                    out += 1
        new_indptr[c + 1] = out
    return new_indptr, new_indices[:out], new_data[:out], new_size


@jit
def _induced(indptr: Array, indices: Array, data: Array, vertices: Array, local: Array) -> tuple[Array, Array, Array]:
    count = vertices.size
    bound = 0
    for i in range(count):
        local[vertices[i]] = i
        bound += indptr[vertices[i] + 1] - indptr[vertices[i]]
    new_indptr = np.zeros(count + 1, np.int64)
    new_indices = np.empty(bound, np.int32)
    new_data = np.empty(bound, data.dtype)
    out = 0
    for i in range(count):
        for k in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            j = local[indices[k]]
            if j >= 0:
                new_indices[out] = j
                new_data[out] = data[k]
                out += 1
        new_indptr[i + 1] = out
    for i in range(count):
        local[vertices[i]] = -1
    return new_indptr, new_indices[:out], new_data[:out]


@jit
def cut_weight(indptr: Array, indices: Array, data: Array, part: Array) -> int:
    """Sum of the weights of undirected edges between different parts."""
    total = 0
    for u in range(indptr.size - 1):
        for k in range(indptr[u], indptr[u + 1]):
            if part[indices[k]] != part[u]:
                total += data[k]
    return total // 2
