"""The bytes of constants and weights in DRAM."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.constants import array_of
from ...dialects.dataflow.sources import Dense
from ...dialects.weight_references import reference_of
from ...formats.weights import STORE


def constant_bytes(op: ConstantOp | WeightOp) -> NDArray[np.uint8]:
    """Row-major little-endian bytes; not copied. Raises InputError if a weight's file is missing or has changed."""
    if isinstance(op, WeightOp):
        return STORE.get(reference_of(op))
    array: NDArray[Any] = array_of(cast(Dense, op.value))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _content(op: ConstantOp) -> Hashable:
    """A key that is equal for equal elements, independent of the byte that the attribute uses for `true`."""
    return op.results[0].type, constant_bytes(op).tobytes()


class ConstantTable:
    """Constants and weights by number, each content once."""

    def __init__(self) -> None:
        self.ops: list[ConstantOp | WeightOp] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, op: ConstantOp | WeightOp) -> int:
        """The number of an operation's content."""
        key = (op.sha256.data, op.bytes.value.data) if isinstance(op, WeightOp) else _content(op)
        if key not in self._numbers:
            self._numbers[key] = len(self.ops)
            self.ops.append(op)
        return self._numbers[key]
