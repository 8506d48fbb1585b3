"""The table of the sets of cores that receive messages, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...support.errors import ResourceError

_MOST = 0xFFFF


class CoreSetTable:
    """The executable's table of core sets, in the order of first use."""

    def __init__(self, cores: int) -> None:
        """`cores`: number of cores of the chip."""
        self._cores = cores
        self._index: dict[bytes, int] = {}
        """By members, one byte for eight cores."""

    def __len__(self) -> int:
        return len(self._index)

    def intern(self, cores: Iterable[int]) -> int:
        """The index of a set of core numbers. MeshloomError if the table is full, ValueError for a wrong core."""
        members = sorted(set(cores))
        if not members or members[0] < 0 or members[-1] >= self._cores:
            raise ValueError(f"a core set names cores 0 to {self._cores - 1}, got {members}")
        row = np.zeros((1, self._cores), np.bool_)
        row[0, members] = True
        return int(self.intern_rows(row)[0])

    def intern_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The indices of sets of cores as rows of a table, [sets, cores], none of them empty; raises as `intern`."""
        indices = [self._index.setdefault(row.tobytes(), len(self._index)) for row in np.packbits(rows, axis=1)]
        if len(self._index) > _MOST:
            message = f"more than {_MOST} different sets of receivers: use larger or more regular tiles"
            raise ResourceError(message, "sets of receivers", _MOST + 1, _MOST)
        return np.array(indices, np.int64)

    def array(self) -> NDArray[np.bool_]:
        """The table, [sets, cores]."""
        rows = np.frombuffer(b"".join(self._index), np.uint8).reshape(len(self._index), -(-self._cores // 8))
        return np.unpackbits(rows, axis=1, count=self._cores).astype(np.bool_)
