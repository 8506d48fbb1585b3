"""Memory-reuse dependences: for each buffer, the earlier buffers that had its bytes last."""

from __future__ import annotations

from collections.abc import Sequence


def reuse_dependences(sizes: Sequence[int], offsets: Sequence[int]) -> list[list[int]]:
    """
    For each buffer the numbers of those before it in the list that were the last to occupy some of its bytes,
    ascending. Buffers that occupied these bytes earlier are omitted: the later dependence implies theirs.
    """
    found: list[list[int]] = []
    occupied: list[tuple[int, int, int]] = []
    """Disjoint ranges of bytes, and the last buffer that occupied each."""
    for number, (size, low) in enumerate(zip(sizes, offsets, strict=True)):
        high = low + size
        found.append(sorted({other for start, end, other in occupied if start < high and end > low}))
        kept = [(start, min(end, low), other) for start, end, other in occupied if start < low]
        kept += [(max(start, high), end, other) for start, end, other in occupied if end > high]
        occupied = [*kept, (low, high, number)]
    return found
