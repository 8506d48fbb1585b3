"""`dataflow.quantize`: the conversion of sums or floats to quantised values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import I64, IntegerAttr, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .base import Value, int_attr
from .constants import Array
from .elementwise import ElementwiseOp
from .tiling import Box
from .types import Tensor, broadcast_shapes, element_of, shape_of, tensor, ui8

LIMITS: dict[Attribute, tuple[int, int]] = {i8: (-128, 127), ui8: (0, 255)}
"""Least and largest value of the result by its element type."""


@irdl_op_definition
class QuantizeOp(ElementwiseOp):
    """
    round(x * scale) + zero as i8 or ui8, saturated. x (f32 or i32) is converted to f32, the product is rounded to f32,
    and then to the nearest integer, of two the even one. The result for NaN is unspecified.

    ```mlir
    %2 = dataflow.quantize %0, %1 zero -128 : (tensor<1x4x8x8xi32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xi8>
    ```
    """

    name = "dataflow.quantize"
    PASSES: ClassVar = 2
    operand = operand_def(Tensor)
    scale = operand_def(Tensor)
    zero = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = "$operand `,` $scale `zero` $zero attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, scale: Value, zero: int, element: Attribute = i8):
        super().__init__(
            operands=[operand, scale],
            result_types=[self.infer(operand, scale, element)],
            properties={"zero": int_attr(zero)},
        )

    @staticmethod
    def infer(operand: Value, scale: Value, element: Attribute) -> Tensor:
        """The result type; raises VerifyException for unsuitable element types."""
        if element_of(operand) not in (i32, f32) or element_of(scale) != f32:
            raise VerifyException(
                f"operands have element types {element_of(operand)} and {element_of(scale)}: expected i32 or f32, and "
                "f32"
            )
        if element not in LIMITS:
            raise VerifyException(f"the result has element type {element}: expected i8 or ui8")
        return tensor(element, broadcast_shapes(shape_of(operand), shape_of(scale)))

    def verify_(self) -> None:
        super().verify_()
        low, high = LIMITS[element_of(self.result)]
        if not low <= self.zero_point <= high:
            raise VerifyException(f"zero = {self.zero_point} should be within the result's type, {low} to {high}")

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, self.scale, element_of(self.result))

    @property
    def zero_point(self) -> int:
        """The quantised value that represents 0."""
        return self.zero.value.data

    def takes_immediate(self, index: int) -> bool:
        return index == 1

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (QuantizeOp(operands[0], operands[1], self.zero_point, element_of(self.result)),)

    def evaluate(self, x: Array, scale: Array) -> Array:
        """The result, as f32 numbers."""
        low, high = LIMITS[element_of(self.result)]
        steps = np.rint(x.astype(np.float32) * scale) + np.float32(self.zero_point)
        return np.clip(steps, np.float32(low), np.float32(high))
