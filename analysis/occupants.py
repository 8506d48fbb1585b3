"""Who lay where a buffer lies, of buffers that share memory one after another."""

from __future__ import annotations

from collections.abc import Sequence


def last_occupants(sizes: Sequence[int], offsets: Sequence[int]) -> list[list[int]]:
    """
    For each buffer the numbers of those before it in the list that were the last to have some of its bytes, ascending.

    Whoever had these bytes still earlier is left out: the buffer that took them from it stands for it.
    """
    found: list[list[int]] = []
    occupied: list[tuple[int, int, int]] = []
    """Disjoint ranges, and who had them last."""
    for number, (size, low) in enumerate(zip(sizes, offsets, strict=True)):
        high = low + size
        found.append(sorted({other for start, end, other in occupied if start < high and end > low}))
        kept = [(start, min(end, low), other) for start, end, other in occupied if start < low]
        kept += [(max(start, high), end, other) for start, end, other in occupied if end > high]
        occupied = [*kept, (low, high, number)]
    return found
