"""Static allocation of buffers with little waste."""

from __future__ import annotations

from ..allocation.allocate import Allocation, allocate, lower_bound
from ..cost_graphs.graph import Ints

WORK = 2_000_000_000
"""Steps of the search at each capacity; about a nanosecond each."""
_SLACK = (0, 64, 32, 16, 8)
"""If no allocation is found, the capacity is increased by a 64th, and so on."""


def compact_allocation(size: Ints, first: Ints, last: Ints, capacity: int, work: int = WORK) -> Allocation:
    """
    Offsets for buffers of `size` bytes alive from `first` to `last` (both included), at most `capacity` if found.

    A capacity below the largest sum of live bytes is raised to it. If there is no allocation, or none is found, the
    result ends somewhat higher.
    """
    goal = max(capacity, lower_bound(size, first, last))
    best: Allocation | None = None
    for share in _SLACK:
        limit = goal + (goal // share if share else 0)
        if best is not None and best.peak <= limit:
            break
        found = allocate(size.tolist(), first.tolist(), last.tolist(), 1, limit, work)
        if best is None or found.peak < best.peak:
            best = found
        if best.peak <= limit:
            break
    assert best is not None
    return best
