"""Elementwise operations of one operand: functions, tests of floats, conversions of element types."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..base import Value
from ..tiling import Box
from ..types import Tensor, element_bytes, element_of, is_bool, is_float, is_integer, shape_of, tensor
from .base import SLOW_PASSES, ElementwiseOp, describe_types


class UnaryOp(ElementwiseOp, abc.ABC):
    """
    Base of operations with one operand; the result has the same shape (and, except for predicates, the same type).
    """

    ACCEPTS: ClassVar[tuple[Callable[[Attribute], bool], ...]] = (is_float,)

    operand = operand_def(Tensor)
    result = result_def(Tensor)

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value):
        super().__init__(operands=[operand], result_types=[self.infer(operand)])

    @classmethod
    def infer(cls, operand: Value) -> Tensor:
        """
        The result type for this operand; raises VerifyException for element types that the function does not support.
        """
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
    operand = operand_def(Tensor)
    result = result_def(Tensor)
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
    operand = operand_def(Tensor)
    result = result_def(Tensor)
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
