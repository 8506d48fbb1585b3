"""The index kind of compressed rows (CSR): the position of each entry, and a pointer to the end of each fiber."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .bits import Ints, pack
from .index_kind import Mask, Written
from .stride_kinds import CountedKind

POINTER_BITS = 32
"""Bits of the pointer of each fiber."""


class CsrKind(CountedKind):
    """For each fiber the number of entries up to its end, then the position of each entry."""

    name: ClassVar[str] = "csr"
    bits: ClassVar[tuple[int, int]] = (1, 32)
    in_blocks: ClassVar[bool] = False

    def header_bits(self, positions: int) -> int:
        return POINTER_BITS

    def lengths(self, numbers: Ints) -> Ints:
        return np.diff(numbers, prepend=0)

    def write(self, chosen: Mask, bits: int) -> Written:
        row, column = np.nonzero(chosen)
        ends = np.cumsum(np.bincount(row, minlength=len(chosen)))
        return Written(np.concatenate([pack(ends, POINTER_BITS), pack(column, bits)]))

    def columns(self, codes: Ints, row: Ints, lengths: Ints) -> Ints:
        return codes

    def problem(self, positions: int, bits: int) -> str | None:
        return f"positions of {bits} bits for fibers of {positions}" if positions > 1 << bits else None
