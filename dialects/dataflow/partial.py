"""The base class of contractions in parts: the reduced dimension is cut into parts, and each part has its own sum."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from .base import TiledOp, Value
from .contraction import cost_with_widening, held_in, pairs_of_slice, scratch_of_widening
from .tiling import Box, Combine, OpCost


class PartialOp(TiledOp, abc.ABC):
    """
    Element p along the first dimension of the result is the sum over part p; the sum of all parts is the contraction.
    """

    TAKES_PAIRS: ClassVar[bool] = True
    parts = prop_def(IntegerAttr[I64])

    @property
    def part_count(self) -> int:
        """Number of parts as a Python integer."""
        return self.parts.value.data

    @abc.abstractmethod
    def inner_axis(self, position: int) -> int:
        """The axis of operand `position` that is cut into parts."""

    @property
    @abc.abstractmethod
    def part_size(self) -> int:
        """The size of a part along the reduced dimension."""

    def part_of(self, position: int, first: int, size: int) -> tuple[int, int]:
        """
        (Offset, size) of a range of a part along `inner_axis` of operand `position`, in elements (a pair of integers is
        one).
        """
        return pairs_of_slice(first, size) if held_in(self.operands[position]) == 2 else (first, size)

    def around_parts(self, tile: Box, summed: int) -> tuple[int, int]:
        """
        (Offset, size) of the smallest range along the reduced dimension that contains all that a tile sums over;
        `summed`: the dimension of the iteration space that counts positions in a part.
        """
        if not tile.sizes[0]:
            return 0, 0
        first = tile.offsets[0] * self.part_size + tile.offsets[summed]
        return first, (tile.sizes[0] - 1) * self.part_size + tile.sizes[summed]

    @property
    def combine(self) -> Combine | None:
        return "add"

    def product_cost(self, tile: Box, macs: int, matmul: tuple[int, int, int, int]) -> OpCost:
        """The cost of a tile that consists of matrix products of these sizes (batch, M, K, N)."""
        return cost_with_widening(self, self.cost_on("MPU", tile, macs=macs, matmul=matmul), tile)

    def scratch_bytes(self, tile: Box) -> int:
        return scratch_of_widening(self, tile)


def verify_parts(parts: int, size: int, what: str, *operands: Value) -> None:
    """
    Check that `parts` parts of `size` (`what`: its name, for messages) have equal sizes and split no pairs of the
    operands. Raises VerifyException.
    """
    if parts < 1 or size % parts:
        raise VerifyException(f"parts = {parts} should be a positive divisor of the {size} {what}")
    if parts > 1 and size // parts % 2 and any(held_in(value) == 2 for value in operands):
        raise VerifyException(f"parts of {size // parts} {what} split pairs")
