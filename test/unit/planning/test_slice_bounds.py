"""Property test of the bounds of slices, against the enumerated positions that they contain."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.tasks.slice_bounds import slice_bounds

extents = st.tuples(
    st.integers(0, 9), st.integers(0, 4), st.integers(0, 2), st.integers(0, 2), st.sampled_from([-3, -1, 1, 2])
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(extents, extents), max_size=4))
def test_bounds_enclose_all_positions(rows: list[tuple[tuple[int, ...], ...]]) -> None:
    low, high, padded, largest = slice_bounds(np.array(rows, np.int64).reshape(len(rows), 2, 5))
    volumes: list[int] = []
    for core, row in enumerate(rows):
        shape: list[int] = []
        for axis, (offset, size, before, after, step) in enumerate(row):
            taken = [offset + number * step for number in range(size)] or [offset]
            assert low[core, axis] == min(taken)
            assert high[core, axis] == (max(taken) + 1 if size else offset)
            shape.append(int(high[core, axis] - low[core, axis]) + before + after)
        volumes.append(prod(shape))
    assert largest == max(volumes, default=0)
    assert padded == any(before or after for row in rows for _, _, before, after, _ in row)
