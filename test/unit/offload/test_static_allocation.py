"""Tests of offsets from the local search: live buffers do not overlap, the peak is at most the sum of sizes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.offload.static_allocation import compact_allocation

BUFFERS = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20), st.integers(0, 8)), min_size=1, max_size=15)


@settings(max_examples=40, deadline=None)
@given(BUFFERS)
def test_live_buffers_do_not_overlap(buffers: list[tuple[int, int, int]]) -> None:
    size, first, length = (np.array(column, np.int64) for column in zip(*buffers, strict=True))
    last = first + length
    found = compact_allocation(size, first, last, 0)
    live = max(int(size[(first <= moment) & (moment <= last)].sum()) for moment in range(30))
    assert found.lower_bound == live <= found.peak == int((found.offsets + size).max()) <= int(size.sum())
    for one, other in combinations(range(len(size)), 2):
        if first[one] <= last[other] and first[other] <= last[one]:
            low, high = sorted((one, other), key=lambda buffer: int(found.offsets[buffer]))
            assert found.offsets[low] + size[low] <= found.offsets[high]


def test_the_bound_is_reached() -> None:
    """The peak is 11 bytes, those of the buffers of 4, 4 and 3 bytes that are live at time 2."""
    size, first, last = (np.array(row, np.int64) for row in ([3, 4, 4, 3], [0, 0, 2, 2], [1, 2, 3, 4]))
    found = compact_allocation(size, first, last, 0)
    assert found.peak == found.lower_bound == 11
