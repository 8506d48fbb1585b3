"""
Graphs that are compressed in memory: sorted neighbours are stored as gaps, and decoded while they are visited.

The row of vertex u, in integers of variable length (see `varint`):

    2 * degree + uniform                  uniform: all edges of the row have the same weight
    weight                                if uniform and degree > 0
    first neighbour - u, folded           2 d for d >= 0, -2 d - 1 below; then [its weight]
    each next neighbour - the one before  then [its weight]
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

from ...support.jit import jit, jit_with
from .varint import get, length, put

_END = 1 << 62
"""No bound is needed for reads, as this module wrote `offsets` and `code`."""


class CompressedGraph(NamedTuple):
    """
    The ascending rows of n vertices (neighbours may be repeated). Functions compiled by Numba accept it as an argument.

    Created by `compress` or `Compressor`; read by `row_into`, `first_of` and `next_of`, or `neighbours`.
    """

    offsets: NDArray[np.int64]
    """[n + 1] index in `code` at which each row starts"""

    code: NDArray[np.uint8]
    """The encoded rows, one after the other"""


Cursor = tuple[int, int, int, int, bool]
"""
A position in a row: number of entries left, the current neighbour, its weight, the index in `code` of the next one,
uniform.
"""


@jit_with(inline="always")
def first_of(graph: CompressedGraph, u: int) -> Cursor:
    """
    A cursor at the first neighbour of vertex `u`. An edge takes 3 ns in functions compiled with `_nrt=False` (which
    must not allocate memory), 20 ns in others, in which each step counts references to the arrays:

        left, v, weight, at, uniform = first_of(graph, u)
        while left > 0:
            ...
            left, v, weight, at, uniform = next_of(graph, left, v, weight, at, uniform)
    """
    code = graph.code
    head, at = get(code, graph.offsets[u], _END)
    degree = head >> 1
    uniform = head & 1 != 0
    weight: Any = np.int64(0)
    v: Any = np.int64(u)
    if degree > 0:
        if uniform:
            weight, at = get(code, at, _END)
        gap, at = get(code, at, _END)
        v = v + ((gap >> 1) ^ -(gap & 1))
        if not uniform:
            weight, at = get(code, at, _END)
    return degree, v, weight, at, uniform


@jit_with(inline="always")
def next_of(graph: CompressedGraph, left: int, v: int, weight: int, at: int, uniform: bool) -> Cursor:
    """The cursor at the next neighbour; after the last one, `left` is 0."""
    left -= 1
    if left > 0:
        gap, at = get(graph.code, at, _END)
        v += gap
        if not uniform:
            weight, at = get(graph.code, at, _END)
    return left, v, weight, at, uniform


# Not cached: numba cannot call a generator that comes from its cache.
@njit(nogil=True)  # pyright: ignore[reportUntypedFunctionDecorator]
def neighbours(graph: CompressedGraph, u: int) -> Generator[tuple[int, int]]:
    """
    Iterate over (neighbour, weight) of vertex `u`, ascending; for Python, and for Numba if 20 ns per edge suffice.

        for v, weight in neighbours(graph, u): ...
    """
    left, v, weight, at, uniform = first_of(graph, u)
    while left > 0:
        yield v, weight
        left, v, weight, at, uniform = next_of(graph, left, v, weight, at, uniform)


@jit_with(inline="always")
def row_into(graph: CompressedGraph, u: int, indices: NDArray[Any], weights: NDArray[Any], out: int) -> int:
    """Write the row of vertex `u` to `indices[out:]` and `weights[out:]`. Returns the index after its end."""
    code = graph.code
    head, at = get(code, graph.offsets[u], _END)
    degree = head >> 1
    if degree == 0:
        return out
    uniform = head & 1 != 0
    weight: Any = np.int64(0)
    if uniform:
        weight, at = get(code, at, _END)
    gap, at = get(code, at, _END)
    v: Any = u + ((gap >> 1) ^ -(gap & 1))
    last = out + degree
    if uniform:
        while True:
            indices[out] = v
            weights[out] = weight
            out += 1
            if out == last:
                return out
            gap, at = get(code, at, _END)
            v += gap
    while True:
        weight, at = get(code, at, _END)
        indices[out] = v
        weights[out] = weight
        out += 1
        if out == last:
            return out
        gap, at = get(code, at, _END)
        v += gap


@jit_with(inline="always")
def _row_length(u: int, row: NDArray[Any], weights: NDArray[Any]) -> int:
    """Number of bytes of an encoded row."""
    degree = row.size
    if degree == 0:
        return 1
    uniform = True
    gaps = 0
    each = 0
    for k in range(degree):
        step = np.int64(row[k]) - (u if k == 0 else np.int64(row[k - 1]))
        gaps += length(((step << 1) ^ (step >> 63)) if k == 0 else step)
        each += length(np.int64(weights[k]))
        uniform = uniform and weights[k] == weights[0]
    total = length(2 * degree + 1) + gaps
    return total + (length(np.int64(weights[0])) if uniform else each)


@jit_with(inline="always")
def _put_row(code: NDArray[np.uint8], at: int, u: int, row: NDArray[Any], weights: NDArray[Any]) -> int:
    degree = row.size
    uniform = True
    for k in range(degree):
        uniform = uniform and weights[k] == weights[0]
    at = put(code, at, 2 * degree + (1 if uniform else 0))
    if uniform and degree > 0:
        at = put(code, at, np.int64(weights[0]))
    for k in range(degree):
        step = np.int64(row[k]) - (u if k == 0 else np.int64(row[k - 1]))
        at = put(code, at, ((step << 1) ^ (step >> 63)) if k == 0 else step)
        if not uniform:
            at = put(code, at, np.int64(weights[k]))
    return at


@jit
def _measure(first: int, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> NDArray[np.int64]:
    """The offset at which the row of each vertex from `first` on starts, from 0."""
    offsets = np.zeros(indptr.size, np.int64)
    for row in range(indptr.size - 1):
        low, high = indptr[row], indptr[row + 1]
        offsets[row + 1] = offsets[row] + _row_length(first + row, indices[low:high], data[low:high])
    return offsets


@jit
def _fill(
    code: NDArray[np.uint8], at: int, first: int, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]
) -> None:
    for row in range(indptr.size - 1):
        low, high = indptr[row], indptr[row + 1]
        at = _put_row(code, at, first + row, indices[low:high], data[low:high])


@jit
def _degrees(graph: CompressedGraph) -> NDArray[np.int64]:
    n = graph.offsets.size - 1
    indptr = np.zeros(n + 1, np.int64)
    for u in range(n):
        head, _ = get(graph.code, graph.offsets[u], _END)
        indptr[u + 1] = indptr[u] + (head >> 1)
    return indptr


@jit
def _expand(graph: CompressedGraph, indices: NDArray[Any], weights: NDArray[Any]) -> None:
    out = 0
    for u in range(graph.offsets.size - 1):
        out = row_into(graph, u, indices, weights, out)


class Compressor:
    """Compresses a graph that is given in blocks; holds only the compressed rows in memory."""

    def __init__(self, vertices: int) -> None:
        self._offsets: NDArray[np.int64] = np.zeros(vertices + 1, np.int64)
        self._code = np.empty(1 << 16, np.uint8)
        self._used: int = 0
        self._rows: int = 0

    def add(self, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> None:
        """Add the rows of the next vertices: ascending neighbours, `indptr` [k + 1] from 0, weights >= 0."""
        offsets = _measure(self._rows, indptr, indices, data)
        needed = self._used + int(offsets[-1])
        if needed > self._code.size:
            # Resized in place if the system can remap pages; growth by an eighth keeps copies rare.
            self._code.resize(needed + needed // 8, refcheck=False)
        _fill(self._code, self._used, self._rows, indptr, indices, data)
        self._offsets[self._rows + 1 : self._rows + offsets.size] = self._used + offsets[1:]
        self._rows += offsets.size - 1
        self._used = needed

    def finish(self) -> CompressedGraph:
        """The graph; rows that were not added are empty. The compressor must not be used afterwards."""
        missing = self._offsets.size - 1 - self._rows
        self.add(*(np.zeros(missing + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)))
        self._code.resize(self._used, refcheck=False)
        return CompressedGraph(self._offsets, self._code)


def compress(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> CompressedGraph:
    """Compress CSR arrays (rows ascending, weights >= 0)."""
    offsets = _measure(0, indptr, indices, data)
    code = np.empty(int(offsets[-1]), np.uint8)
    _fill(code, 0, 0, indptr, indices, data)
    return CompressedGraph(offsets, code)


def expand(graph: CompressedGraph) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """The CSR arrays of a graph: indptr int64, indices int32 (int64 beyond its range), weights int64."""
    indptr = _degrees(graph)
    total = int(indptr[-1])
    indices = np.empty(total, np.int32 if indptr.size <= 1 << 31 else np.int64)
    weights = np.empty(total, np.int64)
    _expand(graph, indices, weights)
    return indptr, indices, weights
