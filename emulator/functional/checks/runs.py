"""Memory accesses of decoded instructions as flat arrays: contiguous runs repeated along up to five dimensions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..semantics.base import Access, Decoded

WRITE, READS_TOO, DRAM, REMOTE = 1, 2, 4, 8
"""Flags of an access."""


def runs_of(access: Access) -> tuple[int, int, list[tuple[int, int]]]:
    """
    The bytes of `access` as (offset of the first, length of a run, [(count, stride) of the runs]), without duplicates.

    Dimensions are processed in the order of strides, so that overlapping windows merge into one run or one dimension.
    """
    low = 0
    dims: list[tuple[int, int]] = []
    for size, stride in zip(access.geometry.shape, access.geometry.strides, strict=True):
        if size > 1 and stride:
            low += min(0, stride * (size - 1))
            dims.append((abs(stride), size))
    length = access.itemsize
    repeats: list[tuple[int, int]] = []
    for stride, size in sorted(dims):
        if not repeats and stride <= length:
            length += stride * (size - 1)
            continue
        for k, (count, step) in enumerate(repeats):
            if stride % step == 0 and stride // step <= count:
                repeats[k] = (count + stride // step * (size - 1), step)
                break
        else:
            repeats.append((size, stride))
    return low, length, repeats


@dataclass
class AccessTable:
    """The accesses of all decoded instructions so far; `number` returns the row of an instruction."""

    first: list[int] = field(default_factory=list)
    """For each instruction the index of its first access; its accesses end before those of the next instruction."""
    rows: list[tuple[int, ...]] = field(default_factory=list)
    """For each access: slot, flags, offset, length, and five pairs of count and stride."""
    _known: dict[int, tuple[int, Decoded]] = field(default_factory=dict)

    def number(self, decoded: Decoded, remote_target: bool) -> int:
        """The row of `decoded`; `remote_target`: whether it writes to the memories of other cores (a put)."""
        known = self._known.get(id(decoded))
        if known is not None:
            return known[0]
        number = len(self.first)
        self._known[id(decoded)] = (number, decoded)
        self.first.append(len(self.rows))
        for access in sorted(decoded.accesses, key=lambda a: a.write):
            low, length, repeats = runs_of(access)
            flags = (WRITE if access.write else 0) | (READS_TOO if access.reads_too else 0)
            flags |= (DRAM if access.dram else 0) | (REMOTE if access.write and remote_target else 0)
            pairs = [value for pair in [*repeats, *[(1, 0)] * (5 - len(repeats))] for value in pair]
            self.rows.append((access.slot, flags, low, length, *pairs))
        return number

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(first [instructions + 1], rows [accesses, 14])."""
        return np.array([*self.first, len(self.rows)], np.int64), np.array(self.rows, np.int64).reshape(-1, 14)
