"""Places for buffers with little waste: greedy placement, in an order that a local search improves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..allocation import Allocation, lower_bound
from ..cost_graphs.graph import Ints
from .rebuild import compiled

WORK = 400_000_000
"""Pairs of buffers to look at; about a nanosecond each."""


def tight_allocation(size: Ints, first: Ints, last: Ints, capacity: int, seed: int = 0) -> Allocation:
    """
    Offsets for buffers of `size` bytes alive from `first` to `last` (both included), at most `capacity` if found.

    The buffers that reach highest go to an earlier place in the order; ties and slightly worse orders are kept. Ends at
    the most bytes alive at once, at the capacity, or when the work is done.
    """
    bound = lower_bound(size, first, last)
    order = np.lexsort((first, -size * (last - first + 1))).astype(np.int64)
    rounds = max(1, WORK // (len(size) * len(size) + 1))
    offsets = np.zeros(len(size), np.int64)
    peak = _improve(size, first, last, order, max(bound, capacity), min(rounds, 20_000), seed, offsets)
    return Allocation(offsets, int(peak), bound)


@compiled
def _improve(
    size: Any, first: Any, last: Any, order: Any, goal: int, rounds: int, seed: int, best: Any
) -> int:  # fmt: skip
    """The least peak found, whose offsets are put in `best`."""
    np.random.seed(seed)
    n = len(size)
    least = current = 1 << 62
    offsets, now, sorted_ones = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    trial = order.copy()
    for turn in range(rounds):
        trial[:] = order
        if turn:
            # One that sticks out goes somewhere before its place.
            ends = now + size
            high = np.flatnonzero(ends >= (current if np.random.random() < 0.5 else goal + 1))
            pick = high[np.random.randint(len(high))] if len(high) else np.random.randint(n)
            place = 0
            while trial[place] != pick:
                place += 1
            to = np.random.randint(place + 1)
            for k in range(place, to, -1):
                trial[k] = trial[k - 1]
            trial[to] = pick
        peak = _stack(size, first, last, trial, offsets, sorted_ones)
        if peak < least:
            least = peak
            best[:] = offsets
            if least <= goal:
                break
        heat = 0.01 * goal * (1.0 - turn / rounds)
        if peak <= current or np.random.random() < np.exp((current - peak) / (heat + 1.0)):
            current = peak
            order[:] = trial
            now[:] = offsets
    return least


@compiled
def _stack(size: Any, first: Any, last: Any, order: Any, offsets: Any, placed: Any) -> int:
    """Place buffers in order, each as low as it goes; the peak. `placed` is room for them by offset."""
    peak = 0
    for count in range(len(order)):
        one = order[count]
        low = 0
        for k in range(count):
            other = placed[k]
            if last[other] < first[one] or last[one] < first[other]:
                continue
            if offsets[other] >= low + size[one]:
                break
            low = max(low, offsets[other] + size[other])
        offsets[one] = low
        peak = max(peak, low + size[one])
        k = count
        while k > 0 and offsets[placed[k - 1]] > low:
            placed[k] = placed[k - 1]
            k -= 1
        placed[k] = one
    return peak
