"""Index kinds with one code per entry: distances, or runs of zeros, with fillers if a gap does not fit in a code."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np

from ...support.errors import InputError
from .bits import Bytes, Ints, pack, stream_bytes, unpack
from .index_kind import IndexKind, Mask, Written


class CountedKind(IndexKind, abc.ABC):
    """A header with one number per fiber, then a code for each entry."""

    def header_bits(self, positions: int) -> int:
        """Bits of each number in the header."""
        return positions.bit_length()

    def lengths(self, numbers: Ints) -> Ints:
        """The number of entries of each fiber, from the numbers in the header."""
        return numbers

    @abc.abstractmethod
    def columns(self, codes: Ints, row: Ints, lengths: Ints) -> Ints:
        """The position of each entry in its fiber `row` [entries]; fibers have `lengths` [fibers] entries."""

    def index_bytes(self, fibers: int, positions: int, entries: int, bits: int) -> int:
        return stream_bytes(fibers, self.header_bits(positions)) + stream_bytes(entries, bits)

    def used_bytes(self, room: Bytes, fibers: int, positions: int, bits: int) -> int:
        return self.index_bytes(fibers, positions, int(self._header(room, fibers, positions, bits).sum()), bits)

    def _header(self, room: Bytes, fibers: int, positions: int, bits: int) -> Ints:
        width, what = self.header_bits(positions), f"header of a {self.name}{bits} index"
        return self.lengths(unpack(room[: stream_bytes(fibers, width)], fibers, width, what))

    def read(self, index: Bytes, fibers: int, positions: int, bits: int) -> tuple[Ints, Ints]:
        lengths, what = self._header(index, fibers, positions, bits), f"{self.name}{bits} index"
        if (wrong := (lengths < 0) | (lengths > positions)).any():
            fiber = int(np.flatnonzero(wrong)[0])
            raise InputError(f"damaged {what}: {int(lengths[fiber])} entries in fiber {fiber} of {positions} positions")
        header = stream_bytes(fibers, self.header_bits(positions))
        codes = unpack(index[header:], int(lengths.sum()), bits, what)
        row = np.repeat(np.arange(fibers), lengths)
        return row, self.columns(codes, row, lengths)


class StrideKind(CountedKind):
    """Codes are distances to the previous stored position; the first of a fiber counts from position 0."""

    name: ClassVar[str] = "stride"
    bits: ClassVar[tuple[int, int]] = (2, 8)

    def reach(self, bits: int) -> int:
        """Positions that a filler bridges."""
        return (1 << bits) - 1

    def distances(self, row: Ints, column: Ints) -> Ints:
        """Distance of each position to the previous one in its row; for the first, to position 0."""
        return _distances(row, column)[0]

    def needed_fillers(self, distance: Ints, bits: int) -> Ints:
        """Number of fillers that bridge each distance."""
        return np.maximum(distance - 1, 0) // self.reach(bits)

    def write(self, chosen: Mask, bits: int) -> Written:
        row, column = np.nonzero(chosen)
        distance = self.distances(row, column)
        fillers = self.needed_fillers(distance, bits)
        slots = np.cumsum(fillers + 1) - 1
        codes = np.full(int(slots[-1]) + 1 if len(slots) else 0, (1 << bits) - 1, np.int64)
        codes[slots] = distance - fillers * self.reach(bits)
        lengths = np.bincount(row, fillers + 1, minlength=len(chosen)).astype(np.int64)
        header = pack(lengths, self.header_bits(chosen.shape[1]))
        return Written(np.concatenate([header, pack(codes, bits)]), slots, len(codes))

    def columns(self, codes: Ints, row: Ints, lengths: Ints) -> Ints:
        return _sums(codes, row, lengths)

    def maybe_filler(self, row: Ints, column: Ints, bits: int) -> Mask | None:
        return self.distances(row, column) == (1 << bits) - 1


class RunLengthKind(StrideKind):
    """Codes are numbers of zeros before a stored position in its fiber."""

    name: ClassVar[str] = "run_length"
    in_blocks: ClassVar[bool] = False

    def reach(self, bits: int) -> int:
        return 1 << bits

    def distances(self, row: Ints, column: Ints) -> Ints:
        distance, first = _distances(row, column)
        return distance - ~first

    def needed_fillers(self, distance: Ints, bits: int) -> Ints:
        return distance // self.reach(bits)

    def columns(self, codes: Ints, row: Ints, lengths: Ints) -> Ints:
        return _sums(codes + 1, row, lengths) - 1


def _distances(row: Ints, column: Ints) -> tuple[Ints, Mask]:
    """Distance of each position to the previous one in its row (the first: to 0), and whether it is the first."""
    first = np.ones(len(row), np.bool_)
    first[1:] = row[1:] != row[:-1]
    before = np.zeros_like(column)
    before[1:] = column[:-1]
    before[first] = 0
    return column - before, first


def _sums(steps: Ints, row: Ints, lengths: Ints) -> Ints:
    """Prefix sums that restart in each row."""
    total = np.cumsum(steps)
    starts = np.cumsum(lengths) - lengths
    return total - np.concatenate([np.zeros(1, np.int64), total])[starts][row]
