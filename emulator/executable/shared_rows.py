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
    The first byte of all records, then their second, and so on; from the second on, the records are sorted by the first
    byte. Bytes at one position of records of one kind are alike, so that they are compressed better than the records.
    """
    columns = _as_bytes(rows).T.copy()
    if len(columns) and len(rows):
        columns[1:] = columns[1:, np.argsort(columns[0], kind="stable")]
    return columns.tobytes()


def from_positions(data: memoryview, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The inverse of `by_position`; the size of the data must be a multiple of that of a record."""
    columns = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1).copy()
    columns[1:, np.argsort(columns[0], kind="stable")] = columns[1:].copy()
    return np.ascontiguousarray(columns.T).reshape(-1).view(dtype)


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
