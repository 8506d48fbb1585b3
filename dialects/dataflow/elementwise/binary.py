"""Elementwise operations of two operands of one element type: arithmetic, logic, shifts."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..base import Value
from ..tiling import Box
from ..types import Tensor, is_bool, is_float, is_integer
from .base import SLOW_PASSES, ElementwiseOp, describe_types, infer_binary


class BinaryOp(ElementwiseOp, abc.ABC):
    """Two operands of one element type, a result of that element type and the broadcast shape."""

    ACCEPTS: ClassVar[tuple[Callable[[Attribute], bool], ...]] = (is_float, is_integer)

    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    result = result_def(Tensor)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__(operands=[lhs, rhs], result_types=[self.infer(lhs, rhs)])

    @classmethod
    def infer(cls, lhs: Value, rhs: Value) -> Tensor:
        """The result type; raises VerifyException for operands of unsuitable types."""
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
    a shifted left by b bits; zeros are shifted in.

    ```mlir
    %2 = dataflow.shift_left %0, %1 : (tensor<2x4xui8>, tensor<4xui8>) -> tensor<2x4xui8>
    ```
    """

    name = "dataflow.shift_left"


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """
    a shifted right by b bits: copies of the sign are shifted in for signed integers, zeros for unsigned ones.

    ```mlir
    %2 = dataflow.shift_right %0, %1 : (tensor<2x4xui8>, tensor<4xui8>) -> tensor<2x4xui8>
    ```
    """

    name = "dataflow.shift_right"
