"""
Compiled encoding and decoding of an archive's blocks: rows of records (flag, other vertex, its size, weight); see spec
4, S1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit, jit_with
from .archive_format import INCOMING, OUTGOING
from .varint import get, length, put

FINE, BAD_NUMBER, BAD_FLAG, BAD_VERTEX, BAD_SIZE, BAD_WEIGHT, BAD_COUNT, LEFT_OVER = range(8)
"""Results of `decode_rows` and `decode_sizes`: no error, or the kind of error."""

_LIMIT = 1 << 61


@jit
def encode_rows(
    out: NDArray[np.uint8],
    at: int,
    row: int,
    rows: int,
    target: int,
    indptr: NDArray[np.int64],
    flags: NDArray[np.uint8],
    others: NDArray[Any],
    weights: NDArray[Any],
    size: NDArray[Any],
) -> tuple[int, int, int]:
    """
    Write rows from `row` to `out[at:]` until `rows` is reached or `target` bytes are written.

    Returns the next row, the next index in `out`, and 0, or the bytes that the next row needs if `out` is too small.
    """
    while row < rows and at < target:
        first, last = indptr[row], indptr[row + 1]
        needed = length(last - first)
        for k in range(first, last):
            needed += 1 + length(others[k]) + length(size[others[k]]) + length(weights[k])
        if at + needed > out.size:
            return row, at, needed
        at = put(out, at, last - first)
        for k in range(first, last):
            at = put(out, at, np.int64(flags[k]))
            at = put(out, at, np.int64(others[k]))
            at = put(out, at, size[others[k]])
            at = put(out, at, np.int64(weights[k]))
        row += 1
    return row, at, 0


@jit
def decode_sizes(data: NDArray[np.uint8], at: int, size: NDArray[np.int64]) -> tuple[int, int]:
    """
    Read `size.size` vertex sizes from `data[at:]`. Returns the result code, and the index at which the rows start.
    """
    for k in range(size.size):
        size[k], at = get(data, at, data.size)
        if at < 0:
            return BAD_NUMBER, at
        if size[k] >= _LIMIT:
            return BAD_SIZE, at
    return FINE, at


@jit_with(inline="always")
def _mix(u: Any, v: Any, w: Any) -> Any:
    """A pseudo-random number for each edge (u, v) of weight w (the finaliser of SplitMix64)."""
    z = np.uint64(u) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(v) * np.uint64(0xD1B54A32D192ED03) + np.uint64(w)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def decode_rows(
    data: NDArray[np.uint8],
    at: int,
    first: int,
    allowed: int,
    size: NDArray[np.int64],
    indptr: NDArray[np.int64],
    flags: NDArray[np.uint8],
    others: NDArray[Any],
    weights: NDArray[np.int64],
    balance: NDArray[np.uint64],
) -> tuple[int, int]:
    """
    Read the rows of vertices `first`, `first` + 1, ... from `data[at:]` into CSR arrays, whose lengths tell the numbers
    of rows and records.

    `allowed` has bit f set for every flag f that may occur. `size` holds every vertex's size, or -1 if it is not yet
    known from a record. Over the whole network, the changes of `balance[0]` add up to 0 if both ends of each edge have
    a record of it. Returns the result code, and the vertex at which an error was found.
    """
    n = size.size
    paired = (allowed >> INCOMING) & 1 != 0
    total = np.uint64(0)
    indptr[0] = 0
    for row in range(indptr.size - 1):
        u = first + row
        degree, at = get(data, at, data.size)
        if at < 0:
            return BAD_NUMBER, u
        if degree > others.size - indptr[row]:
            return BAD_COUNT, u
        for k in range(indptr[row], indptr[row] + degree):
            flag, at = get(data, at, data.size)
            if at < 0:
                return BAD_NUMBER, u
            v, at = get(data, at, data.size)
            if at < 0:
                return BAD_NUMBER, u
            other_size, at = get(data, at, data.size)
            if at < 0:
                return BAD_NUMBER, u
            weight, at = get(data, at, data.size)
            if at < 0:
                return BAD_NUMBER, u
            if flag > 2 or (allowed >> flag) & 1 == 0:
                return BAD_FLAG, u
            if v >= n:
                return BAD_VERTEX, u
            if size[v] == -1 and other_size < _LIMIT:
                size[v] = other_size
            if size[v] != other_size:
                return BAD_SIZE, u
            if weight >= _LIMIT:
                return BAD_WEIGHT, u
            if flag == INCOMING:
                total -= _mix(v, u, weight)
            elif flag == OUTGOING:
                if paired:
                    total += _mix(u, v, weight)
            elif u < v:
                total += _mix(u, v, weight)
            elif u > v:
                total -= _mix(v, u, weight)
            flags[k] = flag
            others[k] = v
            weights[k] = weight
        indptr[row + 1] = indptr[row] + degree
    balance[0] += total
    if indptr[-1] != others.size:
        return BAD_COUNT, first + indptr.size - 2
    return (FINE, first) if at == data.size else (LEFT_OVER, first + indptr.size - 2)


@jit
def undirected_rows(
    indptr: NDArray[np.int64], keep: NDArray[np.bool_], others: NDArray[Any], weights: NDArray[np.int64], first: int
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
    """
    The records with `keep` as ascending rows, with the weights of equal neighbours added up, and without edges from a
    vertex to itself.
    """
    start = np.zeros_like(indptr)
    rows = np.empty_like(others)
    total = np.empty_like(weights)
    out = 0
    for row in range(indptr.size - 1):
        low, high = indptr[row], indptr[row + 1]
        order = np.argsort(others[low:high], kind="mergesort")
        for j in order:
            k = low + j
            if not keep[k] or others[k] == first + row:
                continue
            if out > start[row] and rows[out - 1] == others[k]:
                total[out - 1] += weights[k]
            else:
                rows[out] = others[k]
                total[out] = weights[k]
                out += 1
        start[row + 1] = out
    return start, rows[:out].copy(), total[:out].copy()
