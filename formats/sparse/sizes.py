"""
Sizes of encoded tensors: exact, from the gaps between stored positions, and expected, from a density.

Expected bits per element at density d (of groups, if there are any) for values of w bits, with q = 1 - d, codes of s
bits and groups of g elements:

    direct          1 / g + d w
    stride, runs    d (1 + q**R / (1 - q**R)) (w + s / g), where a filler bridges R positions
    csr             d (w + s / g) + 32 / length

R is 2**s - 1 for strides, whose distances count from 1, and 2**s for runs of zeros. The header of strides and runs (the
number of entries of each fiber) adds ceil(log2(positions + 1)) / length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bits import Ints
from .encode import Mask, group_mask
from .encode import entries_and_bytes as written_size
from .index_formats import Format, Kind
from .stride_kinds import CountedKind, StrideKind


@dataclass(frozen=True, eq=False)
class GapHistogram:
    """Histogram of the gaps between stored positions, in fibers of `positions` each."""

    fibers: int
    positions: int
    later: Ints
    """later[k]: number of stored positions with k unstored ones between them and the previous stored one."""
    first: Ints
    """first[k]: number of fibers whose first stored position is k."""

    @property
    def stored(self) -> int:
        """Stored positions, without fillers."""
        return int(self.later.sum() + self.first.sum())

    @property
    def density(self) -> float:
        """The share of positions that are stored."""
        return self.stored / max(1, self.fibers * self.positions)

    def fillers(self, format: Format) -> int:
        """Number of fillers with which the format bridges wide gaps."""
        kind = format.definition
        if not isinstance(kind, StrideKind):
            return 0
        # Strides count the first distance from position 0, not from before it, so it is one less.
        reach, counts_first = kind.reach(format.bits), format.kind != Kind.STRIDE
        first = np.arange(len(self.first)) - (0 if counts_first else 1)
        later = np.arange(len(self.later))
        return int(np.dot(np.maximum(first, 0) // reach, self.first) + np.dot(later // reach, self.later))


def gap_histogram(mask: Mask, group: int = 1) -> GapHistogram:
    """The gaps of a mask [fibers, length], with positions of `group` elements each."""
    chosen = group_mask(mask, Format(Kind.DIRECT, group=group))
    row, column = np.nonzero(chosen)
    is_first = np.ones(len(row), np.bool_)
    is_first[1:] = row[1:] != row[:-1]
    between = np.diff(column, prepend=0) - 1
    positions = chosen.shape[1]
    return GapHistogram(
        chosen.shape[0],
        positions,
        np.bincount(between[~is_first], minlength=1),
        np.bincount(column[is_first], minlength=1),
    )


def index_bytes(gaps: GapHistogram, format: Format) -> int:
    """
    Bytes of the index of a tensor with these gaps (with positions of the format's groups), for the project's own kinds.
    """
    entries = gaps.stored + gaps.fillers(format)
    return format.definition.index_bytes(gaps.fibers, gaps.positions, entries, format.bits)


def entries_and_bytes(gaps: GapHistogram, mask: Mask, format: Format, element_bytes: int) -> tuple[int, int]:
    """
    Number of entries, fillers included, and bytes of index and values of a tensor with these gaps, whose elements in
    `mask` [fibers, length] are stored. For plug-ins' kinds, the index is written to measure it.
    """
    if format.definition.code:
        entries, index = written_size(group_mask(mask, format), format)
        return entries, index + entries * format.group * element_bytes
    return gaps.stored + gaps.fillers(format), encoded_bytes(gaps, format, element_bytes)


def encoded_bytes(gaps: GapHistogram, format: Format, element_bytes: int) -> int:
    """Bytes of index and values of a tensor with these gaps."""
    entries = gaps.stored + gaps.fillers(format)
    return index_bytes(gaps, format) + entries * format.group * element_bytes


def expected_bits(format: Format, density: float, width: int, length: int | None = None) -> float:
    """
    Expected bits per element of a long random tensor (see the module's docstring); `density` is that of positions.

    `length`, the elements of a fiber, adds the header of strides and runs; csr needs it. Raises ValueError for csr
    without it, and for plug-ins' kinds, for which there is no formula.
    """
    bits, group, quiet, kind = format.bits, format.group, 1.0 - density, format.definition
    header = 0.0
    if length is not None and isinstance(kind, CountedKind):
        header = kind.header_bits(format.positions(length)) / length
    match format.kind:
        case Kind.DIRECT:
            return 1 / group + density * width
        case Kind.CSR:
            if length is None:
                raise ValueError("csr holds a pointer for each fiber: give the length of one")
            return density * (width + bits / group) + header
        case _:
            if not isinstance(kind, StrideKind):
                raise ValueError(f"there is no formula for the bits of a {format} index")
            missed = quiet ** kind.reach(bits)
            if missed == 1.0:
                return header
            return density * (1 + missed / (1 - missed)) * (width + bits / group) + header
