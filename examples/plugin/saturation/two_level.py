"""A sparse format whose index has two levels; it is short if nonzero elements are contiguous."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import numpy as np
from meshloom.formats.sparse.bits import pack, stream_bytes, unpack
from meshloom.support.errors import InputError
from numpy.typing import NDArray

from meshloom.plugins import IndexKind, Written

Ints: TypeAlias = NDArray[np.int64]
RUN = 8
"""Positions of a fiber that share a bit of the upper level."""


class TwoLevelKind(IndexKind):
    """
    A bit for each run of eight positions, which is 1 if one of them is stored; then a byte for each of these runs.
    """

    name: ClassVar[str] = "two_level"
    code: ClassVar[int] = 1
    read_as: ClassVar[Literal["bits", "codes"]] = "bits"
    """Mapping units read it like a direct index, at the same number of bits per cycle."""

    def write(self, chosen: NDArray[np.bool_], bits: int) -> Written:
        runs = np.packbits(chosen, axis=1, bitorder="little").reshape(-1)
        return Written(np.concatenate([pack(runs != 0, 1), runs[runs != 0]]))

    def read(self, index: NDArray[np.uint8], fibers: int, positions: int, bits: int) -> tuple[Ints, Ints]:
        upper = self._upper(index, fibers, positions)
        lower = index[stream_bytes(len(upper), 1) :]
        if len(lower) != np.count_nonzero(upper):
            raise InputError(f"damaged {self.name} index: {len(lower)} runs, the upper level has {int(upper.sum())}")
        runs = np.zeros((len(upper), RUN), np.uint8)
        runs[upper] = np.unpackbits(lower[:, None], axis=1, bitorder="little")
        row, column = np.nonzero(runs.reshape(fibers, -(-positions // RUN) * RUN))
        return row, column

    def index_bytes(self, fibers: int, positions: int, entries: int, bits: int) -> int:
        runs = fibers * -(-positions // RUN)
        return stream_bytes(runs, 1) + min(entries, runs)

    def used_bytes(self, room: NDArray[np.uint8], fibers: int, positions: int, bits: int) -> int:
        upper = self._upper(room, fibers, positions)
        return stream_bytes(len(upper), 1) + int(upper.sum())

    def elements(self, fibers: int, positions: int, entries: float) -> float:
        runs = fibers * -(-positions // RUN)
        return runs + RUN * min(entries, runs)

    def _upper(self, index: NDArray[np.uint8], fibers: int, positions: int) -> NDArray[np.bool_]:
        runs = fibers * -(-positions // RUN)
        return unpack(index[: stream_bytes(runs, 1)], runs, 1, f"{self.name} index").astype(np.bool_)
