"""Property tests of static allocation: live buffers do not overlap, and the peak reaches the lower bound or more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.allocation.allocate import allocate, lower_bound

BUFFERS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 15), st.integers(0, 6)), max_size=25)


@given(BUFFERS, st.sampled_from([1, 4, 64]))
@settings(max_examples=150, deadline=None)
def test_buffers_with_overlapping_lifetimes_do_not_overlap(buffers: list[tuple[int, int, int]], alignment: int) -> None:
    sizes = [size for size, _, _ in buffers]
    first = [start for _, start, _ in buffers]
    last = [start + length for _, start, length in buffers]
    result = allocate(sizes, first, last, alignment)
    assert all(offset % alignment == 0 for offset in result.offsets)
    for a in range(len(sizes)):
        for b in range(a):
            together = first[a] <= last[b] and first[b] <= last[a]
            low_a, low_b = int(result.offsets[a]), int(result.offsets[b])
            if together and sizes[a] and sizes[b]:
                assert low_a + sizes[a] <= low_b or low_b + sizes[b] <= low_a
    steps = np.zeros(32, int)
    for size, low, high in zip(sizes, first, last, strict=True):
        steps[low : high + 1] += -(-size // alignment) * alignment
    assert result.lower_bound == steps.max()
    assert result.peak >= result.lower_bound
    assert result.peak >= max((int(o) + s for o, s in zip(result.offsets, sizes, strict=True)), default=0)


def test_memory_of_dead_buffers_is_used_again() -> None:
    result = allocate([100, 60, 40], [0, 1, 1], [0, 2, 2], 4)
    assert (result.peak, result.lower_bound) == (100, 100)


def test_wrong_lifetimes_are_refused() -> None:
    with pytest.raises(ValueError, match="end before they begin"):
        allocate([4], [3], [2], 4)


@given(BUFFERS, st.sampled_from([1, 1 << 50]))
@settings(max_examples=100, deadline=None)
def test_lower_bound_is_the_largest_sum_of_live_bytes_for_any_steps(
    buffers: list[tuple[int, int, int]], far: int
) -> None:
    sizes, first, length = np.array(buffers, np.int64).reshape(-1, 3).T
    last = first + length
    most = max((int(sizes[(first <= step) & (step <= last)].sum()) for step in range(22)), default=0)
    assert lower_bound(sizes, first * far, last * far) == most
