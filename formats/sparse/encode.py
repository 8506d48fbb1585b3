"""
Encoding: tensors to index and values, and back.

A decoder trusts nothing: streams of the wrong length, counts that do not add up, positions outside their fiber or not
in ascending order are errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Bytes, Ints, pack, stream_bytes, unpack
from .fibers import Fibers
from .index_formats import POINTER_BITS, Format, Kind

Mask = NDArray[np.bool_]


def counts(values: Array, threshold: float = 0.0) -> Mask:
    """Which values count: those that are not |x| <= threshold (so NaN counts, and no zero does)."""
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
    """Header and codes, each padded to whole bytes (see `formats`)."""
    values: NDArray[Any]
    """[entries * group]: the stored elements, fiber by fiber."""

    @property
    def nbytes(self) -> int:
        """Bytes of index and values: all that a decoder needs besides format and shape."""
        return self.index.nbytes + self.values.nbytes


def group_mask(mask: Mask, format: Format) -> Mask:
    """[fibers, positions] of [fibers, length]: the groups in which an element counts."""
    rows, length = mask.shape
    positions = format.positions(length)
    padded = np.zeros((rows, positions * format.group), np.bool_)
    padded[:, :length] = mask
    return np.logical_or.reduce(padded.reshape(rows, positions, format.group), axis=2)


def stored_mask(mask: Mask, format: Format) -> Mask:
    """[fibers, length] which elements a format stores of those that count: these, fillers and whole groups."""
    encoded = encode_mask(mask, mask, format, Fibers(mask.shape))
    row, column = stored_positions(encoded)
    groups = np.zeros((len(mask), format.positions(mask.shape[1])), np.bool_)
    groups[row, column] = True
    return np.repeat(groups, format.group, axis=1)[:, : mask.shape[1]]


def encode(tensor: Array, format: Format, fibers: Fibers | None = None, threshold: float = 0.0) -> Encoded:
    """
    The tensor without its elements of |x| <= threshold (in groups: without groups that hold no others).

    `fibers` is the arrangement (by default, one fiber for each index of the first dimension).
    """
    fibers = fibers or Fibers(tensor.shape)
    return encode_mask(tensor, counts(tensor, threshold), format, fibers)


def encode_mask(tensor: Array, mask: Mask, format: Format, fibers: Fibers) -> Encoded:
    """The elements where the mask (of the tensor's shape) says so, whatever their values; the others count as 0."""
    matrix, chosen = fibers.matrix(tensor), group_mask(fibers.matrix(mask), format)
    rows, positions = chosen.shape
    padded = np.zeros((rows, positions * format.group), tensor.dtype)
    padded[:, : fibers.length] = matrix
    stored = padded.reshape(rows, positions, format.group)[chosen]
    if format.kind == Kind.DIRECT:
        return Encoded(format, fibers, pack(chosen.reshape(-1), 1), stored.reshape(-1))
    row, column = np.nonzero(chosen)
    codes, slots, lengths = _codes(format, row, column, rows)
    values = np.zeros((len(codes), format.group), tensor.dtype)
    values[slots] = stored
    if format.kind == Kind.CSR:
        _check_csr(format, positions)
        header = pack(np.cumsum(lengths), POINTER_BITS)
    else:
        header = pack(lengths, format.header_bits(positions))
    return Encoded(format, fibers, np.concatenate([header, pack(codes, format.bits)]), values.reshape(-1))


def _check_csr(format: Format, positions: int) -> None:
    if positions > 1 << format.bits:
        raise ValueError(f"{format}: positions of {format.bits} bits for fibers of {positions}")


def _codes(format: Format, row: Ints, column: Ints, rows: int) -> tuple[Ints, Ints, Ints]:
    """Codes with fillers, the place of each stored position among them, and the number of codes of each fiber."""
    if format.kind == Kind.CSR:
        return column, np.arange(len(column)), np.bincount(row, minlength=rows)
    distance, first = _distances(row, column)
    if format.kind == Kind.STRIDE:
        fillers = np.maximum(distance - 1, 0) // format.reach
    else:
        distance = distance - ~first
        fillers = distance // format.reach
    slots = np.cumsum(fillers + 1) - 1
    codes = np.full(int(slots[-1]) + 1 if len(slots) else 0, format.filler, np.int64)
    codes[slots] = distance - fillers * format.reach
    lengths = np.bincount(row, fillers + 1, minlength=rows).astype(np.int64)
    return codes, slots, lengths


def _distances(row: Ints, column: Ints) -> tuple[Ints, Mask]:
    """Of each position, its distance to the one before in its row (the first: to 0), and whether it is the first."""
    first = np.ones(len(row), np.bool_)
    first[1:] = row[1:] != row[:-1]
    before = np.zeros_like(column)
    before[1:] = column[:-1]
    before[first] = 0
    return column - before, first


def decode(encoded: Encoded) -> Array:
    """The tensor, with zeros for what is not stored. Raises InputError for damaged streams."""
    format, fibers = encoded.format, encoded.fibers
    row, column = stored_positions(encoded)
    groups = np.zeros((fibers.count, format.positions(fibers.length), format.group), encoded.values.dtype)
    groups[row, column] = encoded.values.reshape(-1, format.group)
    matrix = groups.reshape(fibers.count, groups.shape[1] * format.group)
    if (matrix[:, fibers.length :] != 0).any():
        raise InputError(f"damaged values of a {format} index: numbers behind the end of a fiber")
    return fibers.tensor(matrix[:, : fibers.length])


def stored_positions(encoded: Encoded) -> tuple[Ints, Ints]:
    """Fiber and position (in groups) of each entry, fillers included. Raises InputError for damaged streams."""
    format, fibers = encoded.format, encoded.fibers
    entries, rest = divmod(len(encoded.values), format.group)
    if rest:
        raise InputError(f"damaged values of a {format} index: {len(encoded.values)} are no whole groups")
    row, column = positions_of(encoded.index, format, fibers)
    if entries != len(row):
        raise InputError(f"damaged values of a {format} index: {entries} entries, the index has {len(row)}")
    return row, column


def positions_of(index: Bytes, format: Format, fibers: Fibers) -> tuple[Ints, Ints]:
    """Fiber and position (in groups) of each entry of an index, in order. Raises InputError for a damaged one."""
    rows, positions = fibers.count, format.positions(fibers.length)
    what = f"{format} index"
    if format.kind == Kind.DIRECT:
        ones = np.flatnonzero(unpack(index, rows * positions, 1, what).astype(np.bool_))
        row = ones // positions
        return row, ones - row * positions
    header = stream_bytes(rows, format.header_bits(positions))
    numbers = unpack(index[:header], rows, format.header_bits(positions), f"header of a {what}")
    lengths = np.diff(numbers, prepend=0) if format.kind == Kind.CSR else numbers
    if ((lengths < 0) | (lengths > positions)).any():
        fiber = int(np.flatnonzero((lengths < 0) | (lengths > positions))[0])
        raise InputError(f"damaged {what}: {int(lengths[fiber])} entries in fiber {fiber} of {positions} positions")
    codes = unpack(index[header:], int(lengths.sum()), format.bits, what)
    row = np.repeat(np.arange(rows), lengths)
    column = _columns(format, codes, row, lengths)
    wrong = column >= positions
    same = row[1:] == row[:-1]
    wrong[1:] |= same & (column[1:] <= column[:-1])
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"damaged {what}: entry {entry}, in fiber {int(row[entry])}, is at position {int(column[entry])}: "
            f"expected ascending positions below {positions}"
        )
    return row, column


def _columns(format: Format, codes: Ints, row: Ints, lengths: Ints) -> Ints:
    """Positions from codes: prefix sums that restart with each fiber."""
    if format.kind == Kind.CSR:
        return codes
    steps = codes if format.kind == Kind.STRIDE else codes + 1
    total = np.cumsum(steps)
    starts = np.cumsum(lengths) - lengths
    base = np.concatenate([np.zeros(1, np.int64), total])[starts]
    column = total - base[row]
    return column if format.kind == Kind.STRIDE else column - 1
