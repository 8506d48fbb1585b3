"""The topology of a network in memory: an undirected weighted graph, and optionally the directed edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...support.errors import InputError
from . import csr_kernels as kernels

LIMIT = 1 << 62
"""Sums of weights and of sizes stay below this, so that costs can be added up in int64."""

_INT32 = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Topology:
    """
    A network of n vertices (neurons, tiles) and m undirected edges, in compressed sparse rows.

    Created by `make_topology` or `from_directed`, which check and normalise the arrays; the constructor checks nothing.
    Every row is strictly ascending, without the vertex itself; both (u, v) and (v, u) are present, with equal weights.
    """

    indptr: NDArray[np.int64]
    """[n + 1] index in `indices` at which each vertex's row starts."""

    indices: NDArray[Any]
    """[2 m] neighbours; int32 (int64 where n exceeds its range)."""

    data: NDArray[Any]
    """[2 m] weights of the edges >= 0: spikes or bytes per run, the sum of both directions; int32 (int64 if needed)."""

    size: NDArray[np.int64]
    """[n] the part of a core's capacity that each vertex takes, >= 0."""

    src_indptr: NDArray[np.int64] | None = None
    """[n + 1] row pointers of the directed edges by source; None if only the undirected graph is known."""

    src_indices: NDArray[Any] | None = None
    """[e] targets of each source, ascending (a target may occur several times)."""

    spikes: NDArray[Any] | None = None
    """[e] number of spikes that the source sends over this edge in a run, >= 0."""

    @property
    def vertices(self) -> int:
        """Number of vertices, n."""
        return self.size.size

    @property
    def edges(self) -> int:
        """Number of undirected edges, m."""
        return self.indices.size // 2

    @property
    def directed_edges(self) -> int | None:
        """Number of directed edges, e; None if the directions are not known."""
        return None if self.src_indices is None else self.src_indices.size

    @property
    def total_size(self) -> int:
        """Sum of the sizes of all vertices."""
        return int(self.size.sum())


def make_topology(
    indptr: ArrayLike,
    indices: ArrayLike,
    data: ArrayLike | None = None,
    size: ArrayLike | None = None,
    src_indptr: ArrayLike | None = None,
    src_indices: ArrayLike | None = None,
    spikes: ArrayLike | None = None,
) -> Topology:
    """
    Check and normalise CSR arrays (shapes as in `Topology`; weights, spikes and sizes are 1 if they are not given).

    Rows may be unsorted, and have parallel edges (which are added up) and edges from a vertex to itself (which are
    removed). Raises InputError naming the array and the first bad entry for wrong shapes or ranges, negative or
    fractional numbers, an edge whose counterpart is missing or has another weight, and sums beyond 2^62.
    """
    pointers = _pointers("indptr", indptr)
    n = pointers.size - 1
    neighbours, weights = _rows("indices", "data", pointers, indices, data)
    pointers, neighbours, weights = normalised(pointers, neighbours, weights)
    u, v = kernels.first_asymmetry(pointers, neighbours, weights)
    if u >= 0:
        raise InputError(
            f"the graph is not symmetric: edge ({u}, {v}) has no counterpart ({v}, {u}) of the same weight"
        )
    sizes = _sizes(size, n)
    given = [src_indptr is not None, src_indices is not None]
    if not any(given) and spikes is None:
        return Topology(pointers, neighbours, _narrow(weights), sizes)
    if not all(given):
        raise InputError("directed edges need src_indptr and src_indices (and spikes) together")
    assert src_indptr is not None
    assert src_indices is not None
    sources = _pointers("src_indptr", src_indptr)
    if sources.size != n + 1:
        raise InputError(f"src_indptr has {sources.size} entries, indptr has {n + 1}")
    targets, sent = _rows("src_indices", "spikes", sources, src_indices, spikes)
    targets, sent = _sorted_rows(sources, targets, sent)
    return Topology(pointers, neighbours, _narrow(weights), sizes, sources, targets, _narrow(sent))


def from_directed(
    src_indptr: ArrayLike, src_indices: ArrayLike, spikes: ArrayLike | None = None, size: ArrayLike | None = None
) -> Topology:
    """
    The topology of directed edges by source. The weight of an undirected edge is the sum of the spikes of both
    directions.

    Raises InputError as `make_topology` does.
    """
    sources = _pointers("src_indptr", src_indptr)
    targets, sent = _rows("src_indices", "spikes", sources, src_indices, spikes)
    targets, sent = _sorted_rows(sources, targets, sent)
    reverse = kernels.transposed(sources, targets, sent)
    indptr, indices, data = kernels.union_with_transposed(sources, targets, sent, *reverse)
    sizes = _sizes(size, sources.size - 1)
    return Topology(indptr, indices, _narrow(data), sizes, sources, targets, _narrow(sent))


def normalised(
    indptr: NDArray[np.int64], indices: NDArray[Any], data: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """
    The rows strictly ascending, without edges from a vertex to itself, and with parallel edges added up; the same
    arrays if they already are.
    """
    indices, data = _sorted_rows(indptr, indices, data)
    if kernels.row_state(indptr, indices) != kernels.IN_ORDER:
        return kernels.merge_rows(indptr, indices, data.astype(np.int64, copy=False))
    return indptr, indices, data


def integers(name: str, values: ArrayLike, most: int = LIMIT) -> NDArray[Any]:
    """
    `values` as a vector of int64 (or of int32, if they already are) within 0..`most`.

    Raises InputError naming `name` if they are not a vector, not whole numbers, or out of range.
    """
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions, expected 1")
    if array.dtype.kind not in "iufb":
        raise InputError(f"{name} has elements of type {array.dtype}, expected integers")
    if array.size == 0:
        return np.zeros(0, np.int64)
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= most):
        raise InputError(f"{name} has values from {low} to {high}, expected 0 to {most}")
    whole = array.astype(np.int32 if array.dtype == np.int32 else np.int64, copy=False)
    if array.dtype.kind == "f" and not np.array_equal(whole, array):
        raise InputError(f"{name} has fractions, expected whole numbers")
    return whole


def _pointers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    pointers = integers(name, values).astype(np.int64, copy=False)
    if pointers.size == 0:
        raise InputError(f"{name} is empty, expected one entry more than vertices")
    if pointers[0] != 0:
        raise InputError(f"{name} starts at {pointers[0]}, expected 0")
    if (falls := np.flatnonzero(pointers[1:] < pointers[:-1])).size:
        raise InputError(f"{name} decreases at entry {int(falls[0]) + 1}")
    return pointers


def _rows(
    name: str, weights_name: str, pointers: NDArray[np.int64], indices: ArrayLike, data: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Neighbours, in the narrowest type, and weights, both checked against `pointers`."""
    n = pointers.size - 1
    neighbours = integers(name, indices, n - 1) if n else integers(name, indices)
    if neighbours.size != pointers[-1]:
        raise InputError(f"{name} has {neighbours.size} entries, its row pointers end at {pointers[-1]}")
    weights = np.ones(neighbours.size, np.int32) if data is None else integers(weights_name, data)
    if weights.size != neighbours.size:
        raise InputError(f"{weights_name} has {weights.size} entries, {name} has {neighbours.size}")
    _check_sum(weights_name, weights)
    return neighbours.astype(np.int32 if n <= _INT32 else np.int64, copy=False), weights


def _sizes(size: ArrayLike | None, n: int) -> NDArray[np.int64]:
    sizes = np.ones(n, np.int64) if size is None else integers("size", size).astype(np.int64, copy=False)
    if sizes.size != n:
        raise InputError(f"size has {sizes.size} entries for {n} vertices")
    _check_sum("size", sizes)
    return sizes


def _check_sum(name: str, values: NDArray[Any]) -> None:
    if values.sum(dtype=np.float64) >= LIMIT / 2:
        raise InputError(f"the sum of {name} exceeds 2^61")


def _sorted_rows(
    indptr: NDArray[np.int64], indices: NDArray[Any], data: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ascending rows (stable): transposing twice sorts all of them in time proportional to the number of edges."""
    if kernels.row_state(indptr, indices) != kernels.OUT_OF_ORDER:
        return indices, data
    _, indices, data = kernels.transposed(*kernels.transposed(indptr, indices, data))
    return indices, data


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The values as int32 if all of them fit, else unchanged."""
    fits = values.size == 0 or values.max() <= _INT32
    return values.astype(np.int32 if fits else np.int64, copy=False)
