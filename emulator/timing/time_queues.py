"""
First-in, first-out queues of times in one pool of entries: tokens between units, and counts of semaphores.

The caller keeps head and tail of each queue (0: empty; entry 0 is none), and `times`, `nexts` and the counters of the
pool below. Kernels without reference counting cannot allocate: the caller ensures that the pool has capacity.
"""

from __future__ import annotations

from typing import Any

from ...support.jit import Array, jit_with

FREE_ENTRY, NEW_ENTRY, IN_USE = range(3)
"""Counters: the first free entry (0: none), the number of entries ever used, and the number in use."""

_kernel = jit_with(_nrt=False)


@_kernel
def append(heads: Array, tails: Array, times: Array, nexts: Array, counters: Array, queue: Any, time: Any) -> None:
    """Append `time` to `queue`."""
    counters[IN_USE] += 1
    entry = counters[FREE_ENTRY]
    if entry != 0:
        counters[FREE_ENTRY] = nexts[entry]
    else:
        entry = counters[NEW_ENTRY]
        counters[NEW_ENTRY] += 1
    times[entry] = time
    nexts[entry] = 0
    if heads[queue] == 0:
        heads[queue] = entry
    else:
        nexts[tails[queue]] = entry
    tails[queue] = entry


@_kernel
def take(heads: Array, times: Array, nexts: Array, counters: Array, queue: Any) -> Any:
    """Remove the first time of `queue`, which is not empty."""
    entry = heads[queue]
    heads[queue] = nexts[entry]
    nexts[entry] = counters[FREE_ENTRY]
    counters[FREE_ENTRY] = entry
    counters[IN_USE] -= 1
    return times[entry]
