"""The direct index kind: one bit per position."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from .bits import Bytes, Ints, pack, stream_bytes, unpack
from .index_kind import IndexKind, Mask, Written


class DirectKind(IndexKind):
    """One bit per position, 1 if it is stored; fibers follow each other without padding."""

    name: ClassVar[str] = "direct"
    by_input: ClassVar[bool] = True
    read_as: ClassVar[Literal["bits", "codes"]] = "bits"
    in_range: ClassVar[bool] = True

    def write(self, chosen: Mask, bits: int) -> Written:
        return Written(pack(chosen.reshape(-1), 1))

    def read(self, index: Bytes, fibers: int, positions: int, bits: int) -> tuple[Ints, Ints]:
        ones = np.flatnonzero(unpack(index, fibers * positions, 1, "direct index").astype(np.bool_))
        row = ones // positions
        return row, ones - row * positions

    def index_bytes(self, fibers: int, positions: int, entries: int, bits: int) -> int:
        return stream_bytes(fibers * positions, 1)
