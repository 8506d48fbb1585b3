"""The encodings of tables and indices in executables, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.dialects.coreasm.encoding import DESC, WORD, new_words
from meshloom.emulator.executable.shared_rows import (
    by_position,
    differences,
    from_positions,
    undo_differences,
    with_own_numbers,
    with_shared_numbers,
)


@given(st.lists(st.integers(0, 0xFFFF)))
def test_differences_are_from_the_previous_index(numbers: list[int]) -> None:
    found = differences(np.array(numbers, np.uint16))
    assert found.dtype == np.uint16
    assert found.tolist() == [(b - a) % 0x10000 for a, b in zip([0, *numbers], numbers, strict=False)]
    assert undo_differences(found).tolist() == numbers


def most_significant_first(begin: int, end: int, size: int) -> list[int]:
    """The bytes of little-endian numbers of `size` bytes."""
    return [start + byte for start in range(begin, end, size) for byte in reversed(range(size))]


ORDERS = {
    WORD: [
        *range(4),
        *most_significant_first(4, 8, 2),
        *most_significant_first(8, 24, 4),
        *most_significant_first(24, 32, 2),
    ],
    DESC: most_significant_first(0, 40, 4),
}
"""Bytes of a record as they are stored: op, dtype, wait, signal, regs, imm, addr, desc; size, stride."""


@pytest.mark.parametrize("dtype", [WORD, DESC])
@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_tables_are_stored_by_position(dtype: np.dtype[np.void], count: int) -> None:
    random = np.random.default_rng(0)
    rows = [random.integers(3, size=dtype.itemsize, dtype=np.uint8).tobytes() for _ in range(count)]
    stored, order = by_position(np.frombuffer(b"".join(rows), dtype)), ORDERS[dtype]
    columns = [
        bytes(row[at] for row in sorted(rows, key=lambda row: [row[before] for before in order[:number]]))
        for number, at in enumerate(order)
    ]
    assert stored == b"".join(columns)
    assert from_positions(memoryview(stored), dtype).tobytes() == b"".join(rows)


def words_with(descs: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Words with these descriptor fields."""
    words = new_words(len(descs))
    words["desc"] = descs
    return words


def test_words_refer_to_the_shared_table() -> None:
    own, numbers = [[0, 1, 0xFFFF, 1], [2, 0xFFFF, 0, 7]], np.array([30, 10, 20], np.uint16)
    shared = with_shared_numbers(words_with(own), numbers)
    assert shared["desc"].tolist() == [[30, 10, 0xFFFF, 1], [20, 0xFFFF, 30, 7]]
    back = with_own_numbers(shared, numbers)
    assert back is not None
    assert back["desc"].tolist() == own


@pytest.mark.parametrize("numbers", [[3, 3], [3, 0xFFFF], [3, 1 << 17]])
def test_numbers_that_are_ambiguous_or_too_large_remain_those_of_the_program(numbers: list[int]) -> None:
    words, of = words_with([[0, 1, 0, 1]]), np.array(numbers, np.uint32)
    assert with_shared_numbers(words, of).tobytes() == words.tobytes()
    back = with_own_numbers(words, of)
    assert back is not None
    assert back.tobytes() == words.tobytes()


@pytest.mark.parametrize("field", [4, 31])
def test_a_descriptor_that_the_program_lacks_is_refused(field: int) -> None:
    assert with_own_numbers(words_with([[field, 30, 0xFFFF, 0]]), np.array([30, 10], np.uint16)) is None
