"""
Elementwise operations: each element of the result needs one element of each operand.

Operands of different shapes broadcast by numpy's rules, aligned at the last dimension; there is no need for an explicit
`dataflow.broadcast`. Integers wrap around; division of integers truncates, and gives 0 where the divisor is 0.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .base import TiledOp, Value, broadcast_slice
from .tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from .types import (
    Tensor,
    broadcast_shapes,
    element_bytes,
    element_of,
    is_bool,
    is_float,
    is_integer,
    shape_of,
    tensor,
)

AnyTensor = Tensor
SLOW_PASSES = 4
"""Passes of a vector unit for exp, division and their like."""


class ElementwiseOp(TiledOp, abc.ABC):
    """Base of all elementwise operations: iteration space = dimensions of the result, all parallel."""

    PASSES: ClassVar[int] = 1

    def iteration_space(self) -> tuple[IterDim, ...]:
        return tuple(IterDim(size, DimKind.PARALLEL) for size in self.result_shape)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return broadcast_slice(self.operand_shape(index), tile)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=self.PASSES * tile.volume)


class UnaryOp(ElementwiseOp, abc.ABC):
    """One operand, a result of the same shape (and, but for predicates, of the same type)."""

    ACCEPTS: ClassVar[tuple[Callable[[Attribute], bool], ...]] = (is_float,)

    operand = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[self.infer(operand)])

    @classmethod
    def infer(cls, operand: Value) -> Tensor:
        """The result type for this operand; raises VerifyException for element types without this function."""
        element = element_of(operand)
        if not any(accepts(element) for accepts in cls.ACCEPTS):
            raise VerifyException(f"operand has element type {element}: expected {describe(cls.ACCEPTS)}")
        return tensor(cls.result_element(element), shape_of(operand))

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        """Element type of the result, from the operand's."""
        return element

    def expected_type(self) -> Tensor:
        return self.infer(self.operand)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (type(self)(operands[0]),)


_KIND_NAMES: dict[Callable[[Attribute], bool], str] = {is_float: "float", is_integer: "integer", is_bool: "i1"}


def describe(accepted: Sequence[Callable[[Attribute], bool]]) -> str:
    """Words for a set of classes of element types."""
    return " or ".join(_KIND_NAMES[one] for one in accepted)


@irdl_op_definition
class NegOp(UnaryOp):
    """-x"""

    name = "dataflow.neg"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class AbsOp(UnaryOp):
    """|x|"""

    name = "dataflow.abs"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the x"""

    name = "dataflow.exp"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm."""

    name = "dataflow.log"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root."""

    name = "dataflow.sqrt"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)"""

    name = "dataflow.rsqrt"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x"""

    name = "dataflow.reciprocal"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent."""

    name = "dataflow.tanh"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), without overflow for any x."""

    name = "dataflow.sigmoid"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class ErfOp(UnaryOp):
    """Gauss error function."""

    name = "dataflow.erf"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class FloorOp(UnaryOp):
    """Largest integer value not above x."""

    name = "dataflow.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """Smallest integer value not below x."""

    name = "dataflow.ceil"


@irdl_op_definition
class RoundOp(UnaryOp):
    """Nearest integer value, halves to the even one."""

    name = "dataflow.round"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; NaN stays NaN."""

    name = "dataflow.sign"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine of x in radians."""

    name = "dataflow.sin"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine of x in radians."""

    name = "dataflow.cos"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class NotOp(UnaryOp):
    """Logical on i1, bitwise on integers."""

    name = "dataflow.not"
    ACCEPTS: ClassVar = (is_bool, is_integer)


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); NaN stays NaN."""

    name = "dataflow.relu"
    ACCEPTS: ClassVar = (is_float, is_integer)


class FloatPredicateOp(UnaryOp, abc.ABC):
    """A test of a float, with an i1 result."""

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        return i1


@irdl_op_definition
class IsNanOp(FloatPredicateOp):
    """Whether x is not a number."""

    name = "dataflow.isnan"


@irdl_op_definition
class IsInfOp(FloatPredicateOp):
    """Whether x is +inf or -inf."""

    name = "dataflow.isinf"


@irdl_op_definition
class CastOp(ElementwiseOp):
    """
    Conversion of element types: float to integer truncates, anything to i1 is `!= 0`, i1 to anything gives 0 or 1.

    ```
    %1 = dataflow.cast %0 : (tensor<4xi64>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.cast"
    operand = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, element_type: Attribute):
        super().__init__(operands=[operand], result_types=[tensor(element_type, shape_of(operand))])

    def expected_type(self) -> Tensor:
        return tensor(element_of(self.result), shape_of(self.operand))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (CastOp(operands[0], element_of(self.result)),)


@irdl_op_definition
class BitcastOp(ElementwiseOp):
    """
    The same bits as elements of another type of as many; not of i1, whose byte holds one bit.

    ```
    %1 = dataflow.bitcast %0 : (tensor<4xf32>) -> tensor<4xi32>
    ```
    """

    name = "dataflow.bitcast"
    operand = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, element_type: Attribute):
        super().__init__(operands=[operand], result_types=[tensor(element_type, shape_of(operand))])

    def expected_type(self) -> Tensor:
        source, target = element_of(self.operand), element_of(self.result)
        if is_bool(source) or is_bool(target) or element_bytes(source) != element_bytes(target):
            raise VerifyException(f"bits of {source} are no {target}: expected types of the same size, not i1")
        return tensor(target, shape_of(self.operand))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (BitcastOp(operands[0], element_of(self.result)),)


def infer_binary(lhs: Value, rhs: Value) -> Tensor:
    """Type of an elementwise result of two operands: equal element types, broadcast shapes."""
    if element_of(lhs) != element_of(rhs):
        raise VerifyException(
            f"operands have element types {element_of(lhs)} and {element_of(rhs)}: expected equal ones"
        )
    return tensor(element_of(lhs), broadcast_shapes(shape_of(lhs), shape_of(rhs)))


class BinaryOp(ElementwiseOp, abc.ABC):
    """Two operands of one element type, a result of that element type and the broadcast shape."""

    ACCEPTS: ClassVar[tuple[Callable[[Attribute], bool], ...]] = (is_float, is_integer)

    lhs = operand_def(AnyTensor)
    rhs = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__(operands=[lhs, rhs], result_types=[self.infer(lhs, rhs)])

    @classmethod
    def infer(cls, lhs: Value, rhs: Value) -> Tensor:
        """The result type; raises VerifyException for operands that do not fit."""
        result = infer_binary(lhs, rhs)
        if not any(accepts(result.element_type) for accepts in cls.ACCEPTS):
            raise VerifyException(f"operands have element type {result.element_type}: expected {describe(cls.ACCEPTS)}")
        return result

    def expected_type(self) -> Tensor:
        return self.infer(self.lhs, self.rhs)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (type(self)(operands[0], operands[1]),)


@irdl_op_definition
class AddOp(BinaryOp):
    """a + b"""

    name = "dataflow.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """a - b"""

    name = "dataflow.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """a * b"""

    name = "dataflow.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """a / b; integers truncate towards zero."""

    name = "dataflow.div"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class PowOp(BinaryOp):
    """a to the b."""

    name = "dataflow.pow"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger one; NaN if one is NaN."""

    name = "dataflow.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller one; NaN if one is NaN."""

    name = "dataflow.minimum"


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder with the divisor's sign (Python's %)."""

    name = "dataflow.mod"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class FmodOp(BinaryOp):
    """Remainder with the dividend's sign (C's fmod)."""

    name = "dataflow.fmod"
    PASSES: ClassVar = SLOW_PASSES


class BitwiseOp(BinaryOp, abc.ABC):
    """Logical on i1, bitwise on integers."""

    ACCEPTS: ClassVar = (is_bool, is_integer)


@irdl_op_definition
class AndOp(BitwiseOp):
    """a and b"""

    name = "dataflow.and"


@irdl_op_definition
class OrOp(BitwiseOp):
    """a or b"""

    name = "dataflow.or"


@irdl_op_definition
class XorOp(BitwiseOp):
    """Either a or b, not both."""

    name = "dataflow.xor"


class ShiftOp(BinaryOp, abc.ABC):
    """A shift of integers by the second operand's number of bits."""

    ACCEPTS: ClassVar = (is_integer,)


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """a << b"""

    name = "dataflow.shift_left"


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """a >> b, arithmetic for signed integers."""

    name = "dataflow.shift_right"


class Predicate(StrEnum):
    """How `dataflow.compare` compares."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


@irdl_attr_definition
class PredicateAttr(EnumAttribute[Predicate], SpacedOpaqueSyntaxAttribute):
    """A predicate as an attribute: `eq`, `ne`, `lt`, `le`, `gt` or `ge`."""

    name = "dataflow.predicate"


@irdl_op_definition
class CompareOp(ElementwiseOp):
    """
    Comparison with an i1 result. Every comparison with NaN but `ne` is false.

    ```
    %2 = dataflow.compare lt %0, %1 : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xi1>
    ```
    """

    name = "dataflow.compare"
    predicate = prop_def(PredicateAttr)
    lhs = operand_def(AnyTensor)
    rhs = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value, predicate: Predicate | str | PredicateAttr):
        if not isinstance(predicate, PredicateAttr):
            predicate = PredicateAttr(Predicate(predicate))
        super().__init__(operands=[lhs, rhs], result_types=[self.infer(lhs, rhs)], properties={"predicate": predicate})

    @staticmethod
    def infer(lhs: Value, rhs: Value) -> Tensor:
        """The result type; raises VerifyException for operands that do not fit."""
        return tensor(i1, infer_binary(lhs, rhs).get_shape())

    def expected_type(self) -> Tensor:
        return self.infer(self.lhs, self.rhs)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (CompareOp(operands[0], operands[1], self.predicate),)


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """
    Elements of `on_true` where the condition holds, of `on_false` elsewhere; all three broadcast.

    ```
    %3 = dataflow.select %0, %1, %2 : (tensor<4xi1>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.select"
    condition = operand_def(AnyTensor)
    on_true = operand_def(AnyTensor)
    on_false = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    assembly_format = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)"

    def __init__(self, condition: Value, on_true: Value, on_false: Value):
        super().__init__(
            operands=[condition, on_true, on_false], result_types=[self.infer(condition, on_true, on_false)]
        )

    @staticmethod
    def infer(condition: Value, on_true: Value, on_false: Value) -> Tensor:
        """The result type; raises VerifyException for operands that do not fit."""
        if not is_bool(element_of(condition)):
            raise VerifyException(f"condition has element type {element_of(condition)}: expected i1")
        branches = infer_binary(on_true, on_false)
        return tensor(branches.element_type, broadcast_shapes(shape_of(condition), branches.get_shape()))

    def expected_type(self) -> Tensor:
        return self.infer(self.condition, self.on_true, self.on_false)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (SelectOp(*operands),)
