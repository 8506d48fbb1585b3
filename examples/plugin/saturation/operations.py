"""A dialect with one operation, which says itself what it computes, how it is cut into tiles and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from meshloom.dialects.dataflow.base import ComputedOp
from meshloom.dialects.dataflow.elementwise import ElementwiseOp
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.dataflow.types import Tensor, tensor_of
from numpy.typing import NDArray
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ClampOp(ElementwiseOp, ComputedOp):
    """
    min(max(x, low), high) of f32.

    ```
    %1 = saturate.clamp %0 from -1.0 to 1.0 : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "saturate.clamp"
    operand = operand_def(Tensor)
    low = prop_def(FloatAttr)
    high = prop_def(FloatAttr)
    result = result_def(Tensor)

    assembly_format = "$operand `from` $low `to` $high attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation, low: float, high: float) -> None:
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            result_types=[value.type],
            properties={"low": FloatAttr(low, f32), "high": FloatAttr(high, f32)},
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest result."""
        return self.low.value.data, self.high.value.data

    def expected_type(self) -> Tensor:
        low, high = self.bounds
        if not low <= high:
            raise VerifyException(f"from {low} to {high}: expected bounds in ascending order")
        if tensor_of(self.operand).element_type != f32:
            raise VerifyException(f"operand has element type {tensor_of(self.operand).element_type}: expected f32")
        return tensor_of(self.operand)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (ClampOp(operands[0], *self.bounds),)

    def compute(self, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        low, high = np.asarray(self.bounds, np.float32)
        return np.minimum(np.maximum(operands[0], low), high)


Saturate = Dialect("saturate", [ClampOp])
