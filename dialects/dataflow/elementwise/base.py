"""The base class of elementwise operations: iteration space, slices of broadcast operands, cost, element types."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..base import TiledOp, Value, broadcast_slice
from ..tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from ..types import Tensor, broadcast_shapes, element_of, is_bool, is_float, is_integer, shape_of, tensor

SLOW_PASSES = 4
"""Number of passes of a vector unit for slow functions, such as exp and division."""


class ElementwiseOp(TiledOp, abc.ABC):
    """Base of all elementwise operations: iteration space = dimensions of the result, all parallel."""

    PASSES: ClassVar[int] = 1

    def iteration_space(self) -> tuple[IterDim, ...]:
        return tuple(IterDim(size, DimKind.PARALLEL) for size in self.result_shape)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return broadcast_slice(self.operand_shape(index), tile)

    def takes_immediate(self, index: int) -> bool:
        """Whether the instruction can hold operand `index`, a constant of equal elements, as an immediate."""
        return True

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=self.PASSES * tile.volume)


_KIND_NAMES: dict[Callable[[Attribute], bool], str] = {is_float: "float", is_integer: "integer", is_bool: "i1"}


def describe_types(accepted: Sequence[Callable[[Attribute], bool]]) -> str:
    """The description of a set of classes of element types, for messages."""
    return " or ".join(_KIND_NAMES[one] for one in accepted)


def infer_binary(lhs: Value, rhs: Value) -> Tensor:
    """Type of an elementwise result of two operands: equal element types, broadcast shapes."""
    if element_of(lhs) != element_of(rhs):
        raise VerifyException(
            f"operands have element types {element_of(lhs)} and {element_of(rhs)}: expected equal ones"
        )
    return tensor(element_of(lhs), broadcast_shapes(shape_of(lhs), shape_of(rhs)))
