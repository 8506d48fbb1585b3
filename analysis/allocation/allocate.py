"""
Static allocation of buffers with known lifetimes to one memory.

Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020), and the same
greedy placement in other orders; the best result is taken. If none fits a given capacity, greedy placement with the
buffers of the busiest times first is tried, and then a complete search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit
from .allocation_search import fitting_offsets, most_alive

WORK = 300_000_000
"""Number of steps of a complete search; each takes about a nanosecond."""


@dataclass(frozen=True)
class Allocation:
    """The offsets of buffers."""

    offsets: NDArray[np.int64]
    """Byte offset of each buffer."""
    peak: int
    """Bytes up to the end of the highest buffer."""
    lower_bound: int
    """The largest number of live bytes at one time."""


def allocate(
    sizes: Sequence[int],
    first: Sequence[int],
    last: Sequence[int],
    alignment: int,
    capacity: int | None = None,
    work: int = WORK,
) -> Allocation:
    """
    Offsets for buffers of `sizes` bytes that are live from time `first` to time `last`, both included.

    Buffers that are live at the same time never overlap; offsets are multiples of `alignment`. With `capacity`, the
    search ends with the first result that fits; if no order gives one, a complete search of `work` steps follows.
    Raises ValueError for negative sizes and lifetimes that end before they begin.
    """
    size = -(-np.asarray(sizes, np.int64) // alignment) * alignment
    begin, end = np.asarray(first, np.int64), np.asarray(last, np.int64)
    if len(size) and (size.min() < 0 or (end < begin).any()):
        raise ValueError("buffers need sizes >= 0 and lifetimes that do not end before they begin")
    bound = lower_bound(size, begin, end)
    best: NDArray[np.int64] | None = None
    peak = 0
    for order in _orders(size, begin, end, capacity is not None):
        offsets: NDArray[np.int64] = _place(order, size, begin, end)
        reached = int((offsets + size).max(initial=0))
        if best is None or reached < peak:
            best, peak = offsets, reached
        if peak == bound or (capacity is not None and peak <= capacity):
            break
    if capacity is not None and bound <= capacity < peak:
        found = fitting_offsets(size, begin, end, capacity, work)
        if found is not None:
            return Allocation(found, int((found + size).max()), bound)
    return Allocation(best if best is not None else np.zeros(0, np.int64), peak, bound)


def lower_bound(sizes: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> int:
    """The largest number of live bytes at one time: no allocation can have a smaller peak."""
    if not len(sizes):
        return 0
    moments = np.unique(first)  # the number of live bytes increases at these times only
    change = np.zeros(len(moments) + 1, np.int64)
    np.add.at(change, np.searchsorted(moments, first), sizes)
    np.add.at(change, np.searchsorted(moments, last, side="right"), -sizes)
    return int(np.cumsum(change).max())


def _orders(
    size: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64], busiest: bool
) -> Iterator[NDArray[np.int64]]:
    """
    Orders of the buffers, generated one by one; `busiest`: also by the largest number of live bytes during the lifetime
    of each buffer.
    """
    length = end - begin + 1
    yield np.lexsort((begin, -size))
    yield np.lexsort((begin, -size * length))
    yield np.lexsort((-size, -length))
    yield np.lexsort((-size, begin))
    if busiest:
        moments, first = np.unique(begin, return_inverse=True)  # the number of live bytes increases at these times only
        most = most_alive(size, first, np.searchsorted(moments, end, side="right"))
        yield np.lexsort((begin, -size * length, -most))
        yield np.lexsort((begin, -size, -most))


@jit
def _place(  # pragma: no cover - compiled
    order: NDArray[np.int64], size: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """
    Place buffers in `order`, each in the smallest sufficient gap between the buffers that are live at the same time.
    """
    count = len(order)
    offsets = np.zeros(count, np.int64)
    by_offset = np.empty(count, np.int64)  # the buffers placed so far, by offset
    for placed in range(count):
        buffer = order[placed]
        top = np.int64(0)
        best_gap = np.int64(-1)
        best = np.int64(0)
        for position in range(placed):
            other = by_offset[position]
            if end[other] < begin[buffer] or end[buffer] < begin[other]:
                continue
            gap = offsets[other] - top
            if gap >= size[buffer] and (best_gap < 0 or gap < best_gap):
                best_gap, best = gap, top
            top = max(top, offsets[other] + size[other])
        offsets[buffer] = best if best_gap >= 0 else top
        position = placed
        while position > 0 and offsets[by_offset[position - 1]] > offsets[buffer]:
            by_offset[position] = by_offset[position - 1]
            position -= 1
        by_offset[position] = buffer
    return offsets
