"""
A table of the costs of each vertex on every core. As hops are sums over both axes, columns and rows have separate
entries.

`table` [n, W + H]: entry (v, c) with c < W is the sum over v's edges of weight x distance to column c, entry (v, W + r)
that of row r; on core (c, r), v costs the sum of both. Moving a neighbour changes the entries for columns, rows or
both.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..mesh import Mesh


def hop_table(graph: Graph, core_of: Array, mesh: Mesh) -> Array:
    """The table of a mapping; int32 if no entry can exceed its range, else int64."""
    reach = int(mesh.column_positions[-1] + mesh.row_positions[-1])
    heaviest = _heaviest(graph.indptr, graph.data)
    table = np.zeros((graph.vertices, mesh.width + mesh.height), np.int32 if heaviest * reach < 2**31 else np.int64)
    _fill(graph.indptr, graph.indices, graph.data, core_of, mesh.column_positions, mesh.row_positions, table)
    return table


def hop_total(graph: Graph, core_of: Array, mesh: Mesh) -> int:
    """Sum over undirected edges of weight x hops."""
    every = np.arange(graph.vertices)
    table = hop_table(graph, core_of, mesh)
    columns = table[every, core_of % mesh.width].sum(dtype=np.int64)
    return int(columns + table[every, mesh.width + core_of // mesh.width].sum(dtype=np.int64)) // 2


@jit
def _heaviest(indptr: Array, data: Array) -> int:
    heaviest = 0
    for v in range(indptr.size - 1):
        weight = 0
        for k in range(indptr[v], indptr[v + 1]):
            weight += data[k]
        heaviest = max(heaviest, weight)
    return heaviest


@jit
def _fill(indptr: Array, indices: Array, data: Array, core_of: Array, xs: Array, ys: Array, table: Array) -> None:
    width = xs.size
    height = ys.size
    at_column = np.zeros(width, np.int64)
    at_row = np.zeros(height, np.int64)
    for v in range(core_of.size):
        at_column[:] = 0
        at_row[:] = 0
        for k in range(indptr[v], indptr[v + 1]):
            core = core_of[indices[k]]
            at_column[core % width] += data[k]
            at_row[core // width] += data[k]
        for c in range(width):
            if at_column[c]:
                for to in range(width):
                    table[v, to] += at_column[c] * abs(xs[to] - xs[c])
        for r in range(height):
            if at_row[r]:
                for to in range(height):
                    table[v, width + to] += at_row[r] * abs(ys[to] - ys[r])
