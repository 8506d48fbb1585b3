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
            raise VerifyException(f"operand has element type {element}: expected {describe_types(cls.ACCEPTS)}")
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


def describe_types(accepted: Sequence[Callable[[Attribute], bool]]) -> str:
    """Words for a set of classes of element types."""
    return " or ".join(_KIND_NAMES[one] for one in accepted)


@irdl_op_definition
class NegOp(UnaryOp):
    """
    -x of each element x. The smallest signed integer stays as it is.

    ```mlir
    %1 = dataflow.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.neg"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    |x| of each element x. The smallest signed integer stays as it is.

    ```mlir
    %1 = dataflow.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.abs"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class ExpOp(UnaryOp):
    """
    e to the power of x, for each element x.

    ```mlir
    %1 = dataflow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.exp"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class LogOp(UnaryOp):
    """
    The natural logarithm of each element; NaN for negative numbers.

    ```mlir
    %1 = dataflow.log %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.log"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class SqrtOp(UnaryOp):
    """
    The square root of each element; NaN for negative numbers.

    ```mlir
    %1 = dataflow.sqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.sqrt"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """
    1 / sqrt(x) of each element x.

    ```mlir
    %1 = dataflow.rsqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.rsqrt"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """
    1 / x of each element x.

    ```mlir
    %1 = dataflow.reciprocal %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.reciprocal"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class TanhOp(UnaryOp):
    """
    The hyperbolic tangent of each element.

    ```mlir
    %1 = dataflow.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.tanh"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """
    1 / (1 + exp(-x)) of each element x, without overflow for any x.

    ```mlir
    %1 = dataflow.sigmoid %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.sigmoid"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class ErfOp(UnaryOp):
    """
    The Gauss error function of each element.

    ```mlir
    %1 = dataflow.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.erf"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class FloorOp(UnaryOp):
    """
    The largest integral value that is not above x, for each element x.

    ```mlir
    %1 = dataflow.floor %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """
    The smallest integral value that is not below x, for each element x.

    ```mlir
    %1 = dataflow.ceil %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.ceil"


@irdl_op_definition
class RoundOp(UnaryOp):
    """
    The integral value nearest to each element; of two that are equally near, the even one.

    ```mlir
    %1 = dataflow.round %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.round"


@irdl_op_definition
class SignOp(UnaryOp):
    """
    -1, 0 or 1, the sign of each element; NaN stays NaN.

    ```mlir
    %1 = dataflow.sign %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.sign"
    ACCEPTS: ClassVar = (is_float, is_integer)


@irdl_op_definition
class SinOp(UnaryOp):
    """
    The sine of each element, in radians.

    ```mlir
    %1 = dataflow.sin %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.sin"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class CosOp(UnaryOp):
    """
    The cosine of each element, in radians.

    ```mlir
    %1 = dataflow.cos %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.cos"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class NotOp(UnaryOp):
    """
    The logical complement of i1, the bitwise complement of integers.

    ```mlir
    %1 = dataflow.not %0 : (tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "dataflow.not"
    ACCEPTS: ClassVar = (is_bool, is_integer)


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    max(x, 0) of each element x; NaN stays NaN.

    ```mlir
    %1 = dataflow.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.relu"
    ACCEPTS: ClassVar = (is_float, is_integer)


class FloatPredicateOp(UnaryOp, abc.ABC):
    """A test of a float, with an i1 result."""

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        return i1


@irdl_op_definition
class IsNanOp(FloatPredicateOp):
    """
    Whether each element is NaN.

    ```mlir
    %1 = dataflow.isnan %0 : (tensor<4xf32>) -> tensor<4xi1>
    ```
    """

    name = "dataflow.isnan"


@irdl_op_definition
class IsInfOp(FloatPredicateOp):
    """
    Whether each element is an infinity, of either sign.

    ```mlir
    %1 = dataflow.isinf %0 : (tensor<4xf32>) -> tensor<4xi1>
    ```
    """

    name = "dataflow.isinf"


@irdl_op_definition
class CastOp(ElementwiseOp):
    """
    Conversion of element types: floats become integers by truncation, anything becomes i1 by `!= 0`, and i1 becomes 0
    or 1.

    ```mlir
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
    The same bits as elements of another type, which has as many bytes. i1 is not allowed: its byte holds one bit.

    ```mlir
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
            expected = describe_types(cls.ACCEPTS)
            raise VerifyException(f"operands have element type {result.element_type}: expected {expected}")
        return result

    def expected_type(self) -> Tensor:
        return self.infer(self.lhs, self.rhs)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (type(self)(operands[0], operands[1]),)


@irdl_op_definition
class AddOp(BinaryOp):
    """
    a + b. Operands of different shapes broadcast by numpy's rules.

    ```mlir
    %2 = dataflow.add %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """
    a - b. Operands of different shapes broadcast by numpy's rules.

    ```mlir
    %2 = dataflow.sub %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """
    a * b. Operands of different shapes broadcast by numpy's rules.

    ```mlir
    %2 = dataflow.mul %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """
    a / b. The quotient of integers is rounded towards zero, and is 0 where the divisor is 0.

    ```mlir
    %2 = dataflow.div %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.div"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class PowOp(BinaryOp):
    """
    a to the power of b; with a negative b, the power of an integer is rounded towards zero.

    ```mlir
    %2 = dataflow.pow %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.pow"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class MaximumOp(BinaryOp):
    """
    The larger of a and b; NaN where one of them is NaN.

    ```mlir
    %2 = dataflow.maximum %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """
    The smaller of a and b; NaN where one of them is NaN.

    ```mlir
    %2 = dataflow.minimum %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.minimum"


@irdl_op_definition
class ModOp(BinaryOp):
    """
    The remainder of a / b with the sign of the divisor b, as Python's `%`. Of integers it is 0 where the divisor is
    0.

    ```mlir
    %2 = dataflow.mod %0, %1 : (tensor<2x4xi32>, tensor<4xi32>) -> tensor<2x4xi32>
    ```
    """

    name = "dataflow.mod"
    PASSES: ClassVar = SLOW_PASSES


@irdl_op_definition
class FmodOp(BinaryOp):
    """
    The remainder of a / b with the sign of the dividend a, as C's `fmod`. Of integers it is 0 where the divisor is
    0.

    ```mlir
    %2 = dataflow.fmod %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "dataflow.fmod"
    PASSES: ClassVar = SLOW_PASSES


class BitwiseOp(BinaryOp, abc.ABC):
    """Logical on i1, bitwise on integers."""

    ACCEPTS: ClassVar = (is_bool, is_integer)


@irdl_op_definition
class AndOp(BitwiseOp):
    """
    Both a and b: logical on i1, bitwise on integers.

    ```mlir
    %2 = dataflow.and %0, %1 : (tensor<2x4xi1>, tensor<4xi1>) -> tensor<2x4xi1>
    ```
    """

    name = "dataflow.and"


@irdl_op_definition
class OrOp(BitwiseOp):
    """
    a or b or both: logical on i1, bitwise on integers.

    ```mlir
    %2 = dataflow.or %0, %1 : (tensor<2x4xi1>, tensor<4xi1>) -> tensor<2x4xi1>
    ```
    """

    name = "dataflow.or"


@irdl_op_definition
class XorOp(BitwiseOp):
    """
    Either a or b, not both: logical on i1, bitwise on integers.

    ```mlir
    %2 = dataflow.xor %0, %1 : (tensor<2x4xi1>, tensor<4xi1>) -> tensor<2x4xi1>
    ```
    """

    name = "dataflow.xor"


class ShiftOp(BinaryOp, abc.ABC):
    """A shift of integers by the second operand's number of bits."""

    ACCEPTS: ClassVar = (is_integer,)


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """
    a shifted left by b bits, zeros coming in.

    ```mlir
    %2 = dataflow.shift_left %0, %1 : (tensor<2x4xui8>, tensor<4xui8>) -> tensor<2x4xui8>
    ```
    """

    name = "dataflow.shift_left"


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """
    a shifted right by b bits: of signed integers copies of the sign come in, of unsigned ones zeros.

    ```mlir
    %2 = dataflow.shift_right %0, %1 : (tensor<2x4xui8>, tensor<4xui8>) -> tensor<2x4xui8>
    ```
    """

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
    """
    How `dataflow.compare` compares: equal, not equal, less, less or equal, greater, greater or equal.

    ```mlir
    #dataflow<predicate lt>
    ```
    """

    name = "dataflow.predicate"


@irdl_op_definition
class CompareOp(ElementwiseOp):
    """
    Comparison of a with b, element by element, with an i1 result. Every comparison with NaN is false, except `ne`.
    Operands have one element type, and broadcast by numpy's rules.

    ```mlir
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
    Elements of `on_true` where the condition (i1) is true, and of `on_false` elsewhere. All three broadcast by numpy's
    rules.

    ```mlir
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
