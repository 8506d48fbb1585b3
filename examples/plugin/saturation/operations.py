"""A dialect with two operations, which define their computation, tiling and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from meshloom.dialects.dataflow.base import ComputedOp, TiledOp
from meshloom.dialects.dataflow.elementwise import ElementwiseOp
from meshloom.dialects.dataflow.tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from meshloom.dialects.dataflow.types import Tensor, shape_of, tensor, tensor_of
from numpy.typing import NDArray
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ClampOp(ElementwiseOp, ComputedOp):
    """
    min(max(x, low), high) of f32.

    ```mlir
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


@irdl_op_definition
class BoundsOp(TiledOp, ComputedOp):
    """
    The least and the greatest element of each row of f32: [..., n] -> [..., 2].

    ```mlir
    %1 = saturate.bounds %0 : (tensor<4x9xf32>) -> tensor<4x2xf32>
    ```
    """

    name = "saturate.bounds"
    operand = operand_def(Tensor)
    result = result_def(Tensor)

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation) -> None:
        value = SSAValue.get(operand)
        super().__init__(operands=[value], result_types=[tensor(f32, [*shape_of(value)[:-1], 2])])

    def expected_type(self) -> Tensor:
        shape = shape_of(self.operand)
        if tensor_of(self.operand).element_type != f32 or not shape or shape[-1] == 0:
            raise VerifyException(f"operand has type {self.operand.type}: expected rows of f32 with elements")
        return tensor(f32, [*shape[:-1], 2])

    def iteration_space(self) -> tuple[IterDim, ...]:
        *rows, columns = self.operand_shape(0)
        return (*(IterDim(size, DimKind.PARALLEL) for size in rows), IterDim(columns, DimKind.WHOLE))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return OperandSlice.of(tile)

    def result_box(self, tile: Box) -> Box:
        return Box((*tile.offsets[:-1], 0), (*tile.sizes[:-1], 2))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (BoundsOp(operands[0]),)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=tile.volume)

    def compute(self, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        (rows,) = operands
        return np.stack([rows.min(axis=-1), rows.max(axis=-1)], axis=-1)


Saturate = Dialect("saturate", [ClampOp, BoundsOp])
