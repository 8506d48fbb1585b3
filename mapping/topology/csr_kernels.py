"""
Compiled passes over CSR arrays: sorting and merging of rows, check of symmetry, union with the transposed graph. All
take O(edges).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit

IN_ORDER, OUT_OF_ORDER, REPEATED, LOOPS = range(4)
"""States of rows: strictly ascending; not ascending; adjacent equal neighbours; an edge from a vertex to itself."""


@jit
def row_state(indptr: NDArray[Any], indices: NDArray[Any]) -> int:
    """The worst of the states above over all rows; OUT_OF_ORDER as soon as it is found, as it hides the others."""
    state = IN_ORDER
    for u in range(indptr.size - 1):
        for k in range(indptr[u], indptr[u + 1]):
            if indices[k] == u:
                state = LOOPS
            if k > indptr[u]:
                if indices[k] < indices[k - 1]:
                    return OUT_OF_ORDER
                if indices[k] == indices[k - 1] and state == IN_ORDER:
                    state = REPEATED
    return state


@jit
def transposed(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """
    The transposed graph; rows are ascending, with equal neighbours in the order of the input (stable counting sort).
    """
    n = indptr.size - 1
    start = np.zeros(n + 1, np.int64)
    for k in range(indices.size):
        start[indices[k] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    at = start[:-1].copy()
    rows = np.empty_like(indices)
    weights = np.empty_like(data)
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            rows[at[v]] = u
            weights[at[v]] = data[k]
            at[v] += 1
    return start, rows, weights


@jit
def merge_rows(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Remove edges from a vertex to itself, and add up equal neighbours, which must be adjacent."""
    n = indptr.size - 1
    start = np.zeros(n + 1, np.int64)
    out = 0
    rows = np.empty_like(indices)
    weights = np.empty_like(data)
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if v == u:
                continue
            if out > start[u] and rows[out - 1] == v:
                weights[out - 1] += data[k]
            else:
                rows[out] = v
                weights[out] = data[k]
                out += 1
        start[u + 1] = out
    return start, rows[:out].copy(), weights[:out].copy()


@jit
def first_asymmetry(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any]) -> tuple[int, int]:
    """
    The first edge (u, v) whose counterpart (v, u) is missing or has another weight; (-1, -1) if there is none.

    Rows must be strictly ascending: visiting the sources in order then visits every row's entries from left to right.
    """
    at = indptr[:-1].copy()
    for u in range(indptr.size - 1):
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if at[v] >= indptr[v + 1] or indices[at[v]] != u or data[at[v]] != data[k]:
                return u, v
            at[v] += 1
    return -1, -1


@jit
def _union(
    a_indptr: NDArray[Any],
    a_indices: NDArray[Any],
    a_data: NDArray[Any],
    b_indptr: NDArray[Any],
    b_indices: NDArray[Any],
    b_data: NDArray[Any],
    write: bool,
    start: NDArray[np.int64],
    rows: NDArray[Any],
    weights: NDArray[np.int64],
) -> None:
    """
    Merge the ascending rows of two graphs; repeated edges are added up, and edges from a vertex to itself removed.
    Fills `start`, and if `write` is set also `rows` and `weights`.
    """
    out = 0
    for u in range(a_indptr.size - 1):
        a, a_end, b, b_end = a_indptr[u], a_indptr[u + 1], b_indptr[u], b_indptr[u + 1]
        last = -1
        while a < a_end or b < b_end:
            if b >= b_end or (a < a_end and a_indices[a] <= b_indices[b]):
                v, w = a_indices[a], np.int64(a_data[a])
                a += 1
            else:
                v, w = b_indices[b], np.int64(b_data[b])
                b += 1
            if v == u:
                continue
            if v != last:
                last = v
                out += 1
                if write:
                    rows[out - 1] = v
                    weights[out - 1] = w
            elif write:
                weights[out - 1] += w
        start[u + 1] = out


def union_with_transposed(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    t_indptr: NDArray[Any],
    t_indices: NDArray[Any],
    t_data: NDArray[Any],
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
    """
    The graph with weights w(u, v) + w(v, u), without edges from a vertex to itself. The rows of both inputs are
    ascending; repeated edges are added up.
    """
    both = (indptr, indices, data, t_indptr, t_indices, t_data)
    start = np.zeros(indptr.size, np.int64)
    _union(*both, False, start, np.empty(0, indices.dtype), np.empty(0, np.int64))
    rows = np.empty(int(start[-1]), indices.dtype)
    weights = np.empty(rows.size, np.int64)
    _union(*both, True, start, rows, weights)
    return start, rows, weights
