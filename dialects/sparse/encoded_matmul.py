"""
`sparse.encoded_matmul`: the matrix product of activations that are encoded at run time with dense or encoded weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.encode import decode
from ...formats.sparse.panels import Panels, unpack_fibers
from ..dataflow import contraction
from ..dataflow.base import ComputedOp, TiledOp, Value
from ..dataflow.constants import Array
from ..dataflow.contraction import widened
from ..dataflow.evaluate import evaluate
from ..dataflow.tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from ..dataflow.types import Tensor, element_bytes, element_of, shape_of, tensor
from .block_ops import stored_type, verify_panels
from .panel_attribute import PanelsAttr


@irdl_op_definition
class EncodedMatmulOp(TiledOp, ComputedOp):
    """
    Matrix product [M, K] x [K, N] of activations in panels, a fiber for each row, with weights that are dense
    (`transpose_b`: [N, K]) or in panels, a fiber for each column. `of` is the element type of the activations.

    Iteration space: (panels of rows, N or panels of columns, K).

    ```mlir
    %2 = sparse.encoded_matmul %0, %1 transpose_b of f32
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      : (tensor<1x1x1060xui8>, tensor<16x64xf32>) -> tensor<4x16xf32>
    %4 = sparse.encoded_matmul %0, %3 of f32
      by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1>
      weights <direct, outputs = 8 by 8, inputs = 64 by 64, values_at = 68, entries = 512, fullest = 512, loads = 1>
      : (tensor<1x1x1060xui8>, tensor<1x1x2116xui8>) -> tensor<4x8xf32>
    ```
    """

    name = "sparse.encoded_matmul"
    neurons = operand_def(Tensor)
    weights = operand_def(Tensor)
    element = prop_def(AnyAttr())
    """The type of the elements that are multiplied."""
    layout = prop_def(PanelsAttr)
    weights_layout = opt_prop_def(PanelsAttr)
    transpose_b = opt_prop_def(UnitAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$neurons `,` $weights (`transpose_b` $transpose_b^)? `of` $element `by` $layout "
        "(`weights` $weights_layout^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        neurons: Value,
        weights: Value,
        element: Attribute,
        result: Attribute,
        layout: PanelsAttr,
        weights_layout: PanelsAttr | None = None,
        transpose_b: bool = False,
    ) -> None:
        if weights_layout is not None:
            columns = weights_layout.panels().outputs
        else:
            columns = shape_of(weights)[0 if transpose_b else 1]
        super().__init__(
            operands=[neurons, weights],
            result_types=[tensor(result, (layout.panels().outputs, columns))],
            properties={
                "element": element,
                "layout": layout,
                "weights_layout": weights_layout,
                "transpose_b": UnitAttr() if transpose_b else None,
            },
        )

    @property
    def rows(self) -> Panels:
        """The panels of the activations."""
        return self.layout.panels(self.operand_shape(0)[2])

    @property
    def columns(self) -> Panels | None:
        """The panels of the weights; None if they are dense."""
        return None if self.weights_layout is None else self.weights_layout.panels(self.operand_shape(1)[2])

    @property
    def item_bytes(self) -> int:
        """Bytes of an element that is multiplied."""
        return element_bytes(self.element)

    def _dense(self) -> contraction.MatmulOp:
        """The dense product of decoded operands."""
        flag = self.transpose_b is not None
        rows, columns = self.rows, self.columns
        if columns is not None:
            shape, flag = (columns.outputs, columns.inputs), True
        else:
            shape = self.operand_shape(1)
        types = [tensor(self.element, (rows.outputs, rows.inputs)), tensor(self.element, shape)]
        element = self.result_type.element_type
        return contraction.MatmulOp(*Block(arg_types=types).args, transpose_b=flag, result_element=element)

    def expected_type(self) -> Tensor:
        verify_panels(self.neurons, self.layout, self.element, "operand 0")
        if self.weights_layout is not None:
            columns = verify_panels(self.weights, self.weights_layout, self.element, "operand 1")
            if self.transpose_b is not None:
                raise VerifyException("weights in panels have a fiber for each column: leave out transpose_b")
            if columns.depth != columns.inputs:
                raise VerifyException("weights in panels of parts of a column: expected whole columns")
        elif element_of(self.weights) != self.element:
            raise VerifyException(f"operand 1 has type {self.weights.type}: expected elements {self.element}")
        if self.rows.depth != self.rows.inputs:
            raise VerifyException("neurons in panels of parts of a row: expected whole rows")
        return widened(self._dense().result_type, self.result_type)

    def iteration_space(self) -> tuple[IterDim, ...]:
        rows, columns = self.rows, self.columns
        count = self.result_shape[1] if columns is None else columns.counts[0]
        return (
            IterDim(rows.counts[0], DimKind.PARALLEL),
            IterDim(count, DimKind.PARALLEL),
            IterDim(rows.inputs, DimKind.WHOLE),
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        dim = index
        if index == 0 or self.weights_layout is not None:
            nbytes = self.operand_shape(index)[2]
            return OperandSlice.of(Box((tile.offsets[dim], 0, 0), (tile.sizes[dim], 1, nbytes)))
        inputs = self.rows.inputs
        if self.transpose_b is not None:
            return OperandSlice.of(Box((tile.offsets[1], 0), (tile.sizes[1], inputs)))
        return OperandSlice.of(Box((0, tile.offsets[1]), (inputs, tile.sizes[1])))

    def result_box(self, tile: Box) -> Box:
        first, rows = _clipped(self.rows, tile, 0)
        columns = self.columns
        left, width = (tile.offsets[1], tile.sizes[1]) if columns is None else _clipped(columns, tile, 1)
        return Box((first, left), (rows, width))

    def largest_result(self, tile: Box) -> tuple[int, ...]:
        return self.result_box(Box((0, 0, 0), tile.sizes)).sizes

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        box = self.result_box(tile)
        layout = self.layout.resized(tile.offsets[0], box.sizes[0], self.rows.inputs)
        weights = self.weights_layout
        if weights is not None:
            weights = weights.resized(tile.offsets[1], box.sizes[1], self.rows.inputs)
        flag, element = self.transpose_b is not None, self.result_type.element_type
        return (EncodedMatmulOp(operands[0], operands[1], self.element, element, layout, weights, flag),)

    def preferred_dims(self) -> tuple[int, ...]:
        return tuple(dim for dim, one in enumerate(self.iteration_space()[:2]) if one.size > 1)

    def cost(self, tile: Box) -> OpCost:
        m, n = self.result_box(tile).sizes
        k = self.rows.inputs
        cost = self.cost_on("MPU", tile, macs=m * k * n, matmul=(1, m, k, n))
        return replace(cost, item_bytes=self.item_bytes)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Raises InputError for damaged panels."""
        kind, columns = stored_type(self.element), self.columns
        sides = [_matrix(operands[0], self.rows, kind)]
        sides.append(operands[1] if columns is None else _matrix(operands[1], columns, kind))
        return evaluate(self._dense(), sides)


def _matrix(data: Array, panels: Panels, kind: np.dtype[np.generic]) -> Array:
    return np.concatenate([decode(part) for part in unpack_fibers(data, panels, kind)])


def _clipped(panels: Panels, tile: Box, dim: int) -> tuple[int, int]:
    """(First, number) of the fibers of a tile."""
    low = min(tile.offsets[dim] * panels.width, panels.outputs)
    high = min((tile.offsets[dim] + tile.sizes[dim]) * panels.width, panels.outputs)
    return low, high - low
