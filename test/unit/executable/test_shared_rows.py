"""The encodings of tables and indices in executables, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.dialects.coreasm.encoding import DESC, WORD
from meshloom.emulator.executable.shared_rows import by_position, differences, from_positions, undo_differences


@given(st.lists(st.integers(0, 0xFFFF)))
def test_differences_are_from_the_previous_index(numbers: list[int]) -> None:
    found = differences(np.array(numbers, np.uint16))
    assert found.dtype == np.uint16
    assert found.tolist() == [(b - a) % 0x10000 for a, b in zip([0, *numbers], numbers, strict=False)]
    assert undo_differences(found).tolist() == numbers


@pytest.mark.parametrize("dtype", [WORD, DESC])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_tables_are_stored_by_position(dtype: np.dtype[np.void], count: int) -> None:
    data = np.random.default_rng(0).bytes(count * dtype.itemsize)
    stored = by_position(np.frombuffer(data, dtype))
    assert stored == bytes(data[row * dtype.itemsize + at] for at in range(dtype.itemsize) for row in range(count))
    assert from_positions(memoryview(stored), dtype).tobytes() == data
