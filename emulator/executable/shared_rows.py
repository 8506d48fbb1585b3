"""
Tables of distinct rows: programs of different cores have most words and access descriptors in common, so a file has
each only once, and programs refer to them by index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import NO_DESC

SHARED_SLOTS = 3
"""Number of descriptor fields of a word that never have another meaning, such as a core set."""
_SHORT, _LONG = np.dtype("<u2"), np.dtype("<u4")


def share_rows(tables: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """
    The distinct elements of tables of records, in the order of their first appearance, and for each table the indices
    of its elements in these, of type `number_type`.
    """
    rows = np.concatenate([np.zeros(0, dtype), *tables])
    bytes_of = np.ascontiguousarray(rows).view(f"V{dtype.itemsize}")
    _, first, which = np.unique(bytes_of, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    numbers = place[which.reshape(-1)].astype(number_type(len(order)))
    ends = np.cumsum([len(table) for table in tables], dtype=np.int64)
    return rows[first[order]], np.split(numbers, ends[:-1]) if len(tables) else []


def by_position(rows: NDArray[Any]) -> bytes:
    """
    The first byte of all records, then their second, and so on, the most significant byte of each number first. Each
    byte position is sorted by all positions before it, so that alike bytes are together and compressed well.
    """
    sorting = _Sorting(len(rows))
    stored: list[bytes] = []
    for column in _as_bytes(rows).T[_positions(rows.dtype)]:
        stored.append(column[sorting.order].tobytes())
        sorting.refine(column)
    return b"".join(stored)


def from_positions(data: memoryview, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The inverse of `by_position`; the size of the data must be a multiple of that of a record."""
    stored = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1)
    found = np.empty((stored.shape[1], dtype.itemsize), np.uint8)
    sorting = _Sorting(len(found))
    for position, values in zip(_positions(dtype), stored, strict=True):
        found[sorting.order, position] = values
        sorting.refine(found[:, position])
    return found.reshape(-1).view(dtype)


class _Sorting:
    """The order of records by the byte positions so far; equal records keep theirs."""

    def __init__(self, rows: int) -> None:
        self.order = np.arange(rows)
        self._group = np.zeros(rows, np.int64)
        """By record, the place in the order of the first record that is equal so far."""
        self._tied = np.arange(rows)
        """The places of records of which there are several that are equal so far."""

    def refine(self, column: NDArray[np.uint8]) -> None:
        """Add a byte position."""
        places = self._tied
        if not len(places):
            return
        rows = self.order[places]
        keys = self._group[rows] << 8 | column[rows]
        ascending = np.argsort(keys, kind="stable")
        rows, keys = rows[ascending], keys[ascending]
        self.order[places] = rows
        begins = np.diff(keys, prepend=-1) != 0
        self._group[rows] = places[np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))]
        self._tied = places[~(begins & np.append(begins[1:], True))]


def _positions(dtype: np.dtype[Any]) -> list[int]:
    """The bytes of a record: field by field, the most significant byte of each little-endian number first."""
    found: list[int] = []
    for number, offset, *_ in (dtype.fields or {}).values():
        size = number.base.itemsize
        for start in range(offset, offset + number.itemsize, size):
            found += reversed(range(start, start + size))
    return found


def _as_bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), rows.dtype.itemsize)


def with_shared_numbers(words: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any]:
    """
    Words whose first `SHARED_SLOTS` descriptor fields have the numbers of descriptors in the shared table, instead of
    those in the program's table, so that equal words of different programs have equal bytes. They are unchanged if that
    is not possible: if a program has a descriptor twice, or numbers exceed the field.
    """
    if not _may_share(numbers):
        return words
    found = words.copy()
    fields = found["desc"][:, :SHARED_SLOTS]
    used = fields != NO_DESC
    fields[used] = numbers[fields[used]]
    return found


def with_own_numbers(words: NDArray[Any], numbers: NDArray[Any]) -> NDArray[Any] | None:
    """The inverse of `with_shared_numbers`; None if a word refers to a descriptor that the program does not have."""
    if not _may_share(numbers):
        return words
    found = words.copy()
    fields = found["desc"][:, :SHARED_SLOTS]
    used = fields != NO_DESC
    order = np.argsort(numbers)
    at = np.searchsorted(numbers[order], fields[used])
    if (at >= len(order)).any() or (numbers[order[at]] != fields[used]).any():
        return None
    fields[used] = order[at]
    return found


def _may_share(numbers: NDArray[Any]) -> bool:
    return not len(numbers) or (int(numbers.max()) < NO_DESC and len(np.unique(numbers)) == len(numbers))


def number_type(rows: int) -> np.dtype[Any]:
    """The type of indices of this many rows: of 16 bits, or of 32 if these are too few."""
    return _SHORT if rows <= 1 << 16 else _LONG


def differences(numbers: NDArray[Any]) -> NDArray[Any]:
    """
    Each index minus the previous one, the first minus 0, modulo the range of their type. Programs refer to most rows in
    the order of the table, so that most differences are 1, which compression shortens.
    """
    return np.diff(numbers, prepend=numbers.dtype.type(0))


def undo_differences(numbers: NDArray[Any]) -> NDArray[Any]:
    """The indices of which these are the `differences`."""
    return np.cumsum(numbers, dtype=numbers.dtype)


def runs_of(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """[runs, 2] run-length encoding: value and number of equal neighbours."""
    if not len(values):
        return np.zeros((0, 2), _LONG)
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    lengths = np.diff(np.append(begins, len(values)))
    return np.stack([values[begins], lengths], axis=1).astype(_LONG)
