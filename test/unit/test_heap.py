"""Property test of the heap of kernels, against a list."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.support.heap import heap_drop, heap_push


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=40))
def test_the_root_is_the_least_key(steps: list[int | None]) -> None:
    """The root is the least key; in `steps`, a number is inserted, None removes the least."""
    keys, values = np.empty(len(steps), np.int64), np.empty(len(steps), np.int64)
    expected: list[tuple[int, int]] = []
    for step, key in enumerate(steps):
        if key is not None:
            heap_push(keys, values, len(expected), key, step)
            expected.append((key, step))
        elif expected:
            assert keys[0] == min(key for key, _ in expected)
            expected.remove((int(keys[0]), int(values[0])))
            heap_drop(keys, values, len(expected))
    assert sorted(zip(keys[: len(expected)].tolist(), values[: len(expected)].tolist(), strict=True)) == sorted(
        expected
    )
