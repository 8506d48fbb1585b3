"""The base class of contractions: axes, channel groups, and the cost of widening a narrow operand."""

from __future__ import annotations

import abc
import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, f32, f64
from xdsl.irdl import opt_prop_def

from ....formats.sparse.nonzero import Nonzero
from ..base import TiledOp, nonzero_of, verify_shares
from ..tiling import Box, OpCost
from ..types import element_bytes, element_of
from ..widening import widened_bytes
from .element_types import held_in, narrow_operand

if TYPE_CHECKING:
    from ..partial import PartialOp


class ContractionOp(TiledOp, abc.ABC):
    """
    Base of contractions. `nonzero` is the expected share of nonzero elements of the first operand (see
    `formats.sparse.nonzero`).

    A matrix unit may skip the zeros. It is an estimate: results do not depend on it.
    """

    TAKES_PAIRS: ClassVar[bool] = True
    nonzero = opt_prop_def(DenseArrayBase.constr(f64))

    @property
    def group_count(self) -> int:
        """Number of independent groups of channels."""
        return 1

    @property
    def taps(self) -> int:
        """Number of positions of the kernel, that is, weights of an output neuron for each input channel."""
        return 1

    @property
    def is_depthwise(self) -> bool:
        """Whether each output channel reads one input channel, so that the contraction is not a matrix product."""
        return False

    @property
    def is_padded(self) -> bool:
        """Whether the first operand is padded."""
        return False

    @abc.abstractmethod
    def inner_axis(self, position: int) -> int:
        """The axis of operand `position` that is summed over; for a convolution, the channels."""

    @abc.abstractmethod
    def output_axis(self, position: int) -> int:
        """The axis of operand `position` that counts output neurons, if this operand is the weights."""

    @abc.abstractmethod
    def result_axis(self, position: int) -> int:
        """The axis of the result that counts output neurons, if operand `position` is the weights."""

    @property
    def expected(self) -> Nonzero:
        """The expected share of nonzero elements of the first operand."""
        return nonzero_of(self.nonzero)

    def verify_(self) -> None:
        verify_shares("nonzero", self.nonzero)
        super().verify_()

    def product_cost(self, tile: Box, macs: int, matmul: tuple[int, int, int, int]) -> OpCost:
        """The cost of a tile that consists of matrix products of these sizes (batch, M, K, N)."""
        cost = replace(self.cost_on("MPU", tile, macs=macs, matmul=matmul), nonzero=self.expected)
        return cost_with_widening(self, cost, tile)

    def scratch_bytes(self, tile: Box) -> int:
        return scratch_of_widening(self, tile)


def scratch_of_widening(op: ContractionOp | PartialOp, tile: Box) -> int:
    """Bytes of memory for the widened elements of a contraction's narrow operand, for tiles of this size."""
    narrow = narrow_operand(*op.operands[:2])
    if narrow is None or not tile.volume or _used_once(op, narrow, tile):
        return 0
    shape = op.largest_slice(narrow, tile)
    first = op.inner_axis(narrow)
    wide = element_bytes(element_of(op.operands[1 - narrow]))
    depth = shape[first] * held_in(op.operands[narrow])
    return widened_bytes(depth, math.prod(shape) // max(1, shape[first]) * wide)


def cost_with_widening(op: TiledOp, cost: OpCost, tile: Box) -> OpCost:
    """The cost of a contraction, with the widening of its narrow operand added to `cost`."""
    narrow = narrow_operand(*op.operands[:2])
    if narrow is None:
        return cost
    if _used_once(op, narrow, tile):
        return replace(cost, item_bytes=element_bytes(element_of(op.operands[1 - narrow])))
    elements = op.operand_slice(narrow, tile).box.volume * held_in(op.operands[narrow])
    wide = element_bytes(element_of(op.operands[1 - narrow]))
    return replace(cost, widened=(elements, elements * wide), item_bytes=wide)


def _used_once(op: TiledOp, narrow: int, tile: Box) -> bool:
    """
    Whether each element of the narrow operand is multiplied once, by f32: vector units do this without widening it.
    """
    floats = element_of(op.operands[1 - narrow]) == element_of(op.results[0]) == f32
    elements = op.operand_slice(narrow, tile).box.volume * held_in(op.operands[narrow])
    return floats and tile.volume <= elements
