"""Sets of cores that messages go to, each distinct one once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..support.errors import ResourceError

_MOST = 0xFFFF


class CoreSetTable:
    """The executable's table of core sets, in the order of first use."""

    def __init__(self, cores: int) -> None:
        """`cores`: number of cores of the chip."""
        self._cores = cores
        self._index: dict[frozenset[int], int] = {}

    def __len__(self) -> int:
        return len(self._index)

    def intern(self, cores: Iterable[int]) -> int:
        """The index of a set of core numbers. MeshloomError if the table is full, ValueError for a wrong core."""
        key = frozenset(cores)
        if (found := self._index.get(key)) is not None:
            return found
        if not key or min(key) < 0 or max(key) >= self._cores:
            raise ValueError(f"a core set names cores 0 to {self._cores - 1}, got {sorted(key)}")
        if len(self._index) == _MOST:
            message = f"more than {_MOST} different sets of receivers: use larger or more regular tiles"
            raise ResourceError(message, "sets of receivers", _MOST + 1, _MOST)
        self._index[key] = len(self._index)
        return len(self._index) - 1

    def array(self) -> NDArray[np.bool_]:
        """The table, [sets, cores]."""
        table = np.zeros((len(self._index), self._cores), dtype=np.bool_)
        for row, cores in enumerate(self._index):
            table[row, sorted(cores)] = True
        return table
