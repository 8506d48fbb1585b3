"""
Encoding of tensors to index and values, and decoding.

The decoder validates its input: streams of a wrong length, inconsistent counts, positions outside their fiber or not in
ascending order are errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Bytes, Ints
from .fibers import Fibers
from .index_formats import Format
from .index_kind import Mask as Mask
from .index_kind import Written


def counts(values: Array, threshold: float = 0.0) -> Mask:
    """Which values count as nonzero: those that are not |x| <= threshold (NaN counts, and no zero does)."""
    if values.dtype.kind == "b":
        return values & (threshold < 1)
    small = (values <= threshold) & (values >= -threshold)
    return np.logical_not(small)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A tensor as index and stored values."""

    format: Format
    fibers: Fibers
    index: Bytes
    """Header and codes, each padded to whole bytes (see `index_formats`)."""
    values: NDArray[Any]
    """[entries * group]: the stored elements, fiber by fiber."""

    @property
    def nbytes(self) -> int:
        """Bytes of index and values; a decoder also needs format and shape only."""
        return self.index.nbytes + self.values.nbytes


def group_mask(mask: Mask, format: Format) -> Mask:
    """[fibers, positions] the groups with an element that counts, from the elements that count, [fibers, length]."""
    rows, length = mask.shape
    positions = format.positions(length)
    padded = np.zeros((rows, positions * format.group), np.bool_)
    padded[:, :length] = mask
    return np.logical_or.reduce(padded.reshape(rows, positions, format.group), axis=2)


def stored_mask(mask: Mask, format: Format) -> Mask:
    """[fibers, length] which elements a format stores, given those that count: these, fillers and whole groups."""
    encoded = encode_mask(mask, mask, format, Fibers(mask.shape))
    row, column = stored_positions(encoded)
    groups = np.zeros((len(mask), format.positions(mask.shape[1])), np.bool_)
    groups[row, column] = True
    return np.repeat(groups, format.group, axis=1)[:, : mask.shape[1]]


def encode(tensor: Array, format: Format, fibers: Fibers | None = None, threshold: float = 0.0) -> Encoded:
    """
    The encoded tensor without elements of |x| <= threshold (with groups: without those in which all are that small).

    `fibers` is the arrangement (by default, one fiber for each index of the first dimension).
    """
    fibers = fibers or Fibers(tensor.shape)
    return encode_mask(tensor, counts(tensor, threshold), format, fibers)


def encode_mask(tensor: Array, mask: Mask, format: Format, fibers: Fibers) -> Encoded:
    """The encoded tensor of the elements in the mask (of the tensor's shape), of any value; others become 0."""
    matrix, chosen = fibers.matrix(tensor), group_mask(fibers.matrix(mask), format)
    rows, positions = chosen.shape
    padded = np.zeros((rows, positions * format.group), tensor.dtype)
    padded[:, : fibers.length] = matrix
    stored = padded.reshape(rows, positions, format.group)[chosen]
    written = _write(chosen, format)
    if written.slots is None:
        return Encoded(format, fibers, written.data, stored.reshape(-1))
    entries = written.entries
    if entries is None:
        entries = int(written.slots[-1]) + 1 if len(written.slots) else 0
    values = np.zeros((entries, format.group), tensor.dtype)
    values[written.slots] = stored
    return Encoded(format, fibers, written.data, values.reshape(-1))


def entries_and_bytes(chosen: Mask, format: Format) -> tuple[int, int]:
    """Number of entries, fillers included, and bytes of the index of these groups [fibers, positions]."""
    written = _write(chosen, format)
    if written.entries is not None:
        return written.entries, len(written.data)
    slots = written.slots
    entries = int(np.count_nonzero(chosen)) if slots is None else int(slots[-1]) + 1 if len(slots) else 0
    return entries, len(written.data)


def _write(chosen: Mask, format: Format) -> Written:
    if problem := format.definition.problem(chosen.shape[1], format.bits):
        raise ValueError(f"{format}: {problem}")
    return format.definition.write(chosen, format.bits)


def decode(encoded: Encoded) -> Array:
    """The dense tensor, 0 where nothing is stored. Raises InputError for damaged streams."""
    format, fibers = encoded.format, encoded.fibers
    row, column = stored_positions(encoded)
    groups = np.zeros((fibers.count, format.positions(fibers.length), format.group), encoded.values.dtype)
    groups[row, column] = encoded.values.reshape(-1, format.group)
    matrix = groups.reshape(fibers.count, groups.shape[1] * format.group)
    if (matrix[:, fibers.length :] != 0).any():
        raise InputError(f"damaged values of a {format} index: positions after the end of a fiber")
    return fibers.tensor(matrix[:, : fibers.length])


def stored_positions(encoded: Encoded) -> tuple[Ints, Ints]:
    """Fiber and position (in groups) of each entry, fillers included. Raises InputError for damaged streams."""
    format, fibers = encoded.format, encoded.fibers
    entries, rest = divmod(len(encoded.values), format.group)
    if rest:
        raise InputError(f"damaged values of a {format} index: {len(encoded.values)} are not whole groups")
    row, column = positions_of(encoded.index, format, fibers)
    if entries != len(row):
        raise InputError(f"damaged values of a {format} index: {entries} entries, the index has {len(row)}")
    return row, column


def positions_of(index: Bytes, format: Format, fibers: Fibers) -> tuple[Ints, Ints]:
    """Fiber and position (in groups) of each entry of an index, in order. Raises InputError for a damaged index."""
    rows, positions = fibers.count, format.positions(fibers.length)
    row, column = format.definition.read(index, rows, positions, format.bits)
    if format.definition.in_range:
        return row, column
    wrong = (column < 0) | (column >= positions)
    wrong[1:] |= (row[1:] == row[:-1]) & (column[1:] <= column[:-1])
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"damaged {format} index: entry {entry}, in fiber {int(row[entry])}, is at position "
            f"{int(column[entry])}: expected ascending positions below {positions}"
        )
    return row, column
