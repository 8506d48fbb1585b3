"""`sparse.fill_panels`: panels whose index is known at compile time and whose values are computed at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...support.errors import MeshloomError
from ..dataflow.base import ComputedOp, TiledOp, Value
from ..dataflow.constants import Array
from ..dataflow.tiling import Box, DimKind, IterDim, OperandSlice
from ..dataflow.types import Tensor, element_bytes, element_of, shape_of, tensor, ui8


@irdl_op_definition
class FillPanelsOp(TiledOp, ComputedOp):
    """
    Panels of a constant index and of computed values: panel[p, q] = index[p, q], followed by the bytes of values[p, q].

    `index` [panels, parts, values_at] holds the bytes before the values of each panel, and `values` is [panels, parts,
    entries]. With an `order` [panels, parts, entries] (i32), `values` is a list, and the values of a panel are
    values[order[p, q]].

    Iteration space: (panels, parts, bytes).

    ```mlir
    %2 = sparse.fill_panels %index, %values : (tensor<2x1x36xui8>, tensor<2x1x26xf32>) -> tensor<2x1x140xui8>
    %4 = sparse.fill_panels %index, %list order %order
        : (tensor<2x1x36xui8>, tensor<50xf32>, tensor<2x1x26xi32>) -> tensor<2x1x140xui8>
    ```
    """

    name = "sparse.fill_panels"
    index = operand_def(Tensor)
    values = operand_def(Tensor)
    order = opt_operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$index `,` $values (`order` $order^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, index: Value, values: Value, order: Value | None = None):
        super().__init__(
            operands=[index, values, [] if order is None else [order]],
            result_types=[self.infer(index, values, order)],
        )

    @staticmethod
    def infer(index: Value, values: Value, order: Value | None) -> Tensor:
        """The result type; raises VerifyException if index, values and order do not belong to the same panels."""
        of_index, entries = shape_of(index), shape_of(values if order is None else order)
        if element_of(index) != ui8 or len(of_index) != 3:
            raise VerifyException(
                f"index has type {SSAValue.get(index).type}: expected the bytes of panels, tensor<...x...x...xui8>"
            )
        if len(entries) != 3 or entries[:2] != of_index[:2]:
            name = "values" if order is None else "order"
            raise VerifyException(
                f"{name}: shape {list(entries)}, expected {[*of_index[:2], 'n']}: the panels and parts of the index"
            )
        if order is not None and (element_of(order) != i32 or len(shape_of(values)) != 1 or not shape_of(values)[0]):
            raise VerifyException(
                f"order has type {SSAValue.get(order).type} and values {SSAValue.get(values).type}: expected i32 "
                "and a list of at least one"
            )
        nbytes = entries[2] * element_bytes(element_of(values))
        if of_index[2] % 4 or nbytes % 4:
            raise VerifyException(
                f"a panel has {of_index[2]} bytes of index and {nbytes} of values: expected multiples of 4"
            )
        return tensor(ui8, (*of_index[:2], of_index[2] + nbytes))

    def expected_type(self) -> Tensor:
        return self.infer(self.index, self.values, self.order)

    def iteration_space(self) -> tuple[IterDim, ...]:
        panels, parts, nbytes = self.result_shape
        return (
            IterDim(panels, DimKind.PARALLEL),
            IterDim(parts, DimKind.PARALLEL),
            IterDim(nbytes, DimKind.WHOLE),
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        if index == 1 and self.order is not None:
            return OperandSlice.of(Box.whole(self.operand_shape(1)))  # the values of a panel may be at any positions
        return OperandSlice.of(Box((*tile.offsets[:2], 0), (*tile.sizes[:2], self.operand_shape(index)[2])))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (FillPanelsOp(*operands),)

    def compute(self, operands: Sequence[Array]) -> Array:
        """Index and values of each panel. Raises MeshloomError for an order that is out of range."""
        index, values, *rest = operands
        for order in rest:
            if order.size and not 0 <= int(order.min()) <= int(order.max()) < len(values):
                raise MeshloomError(f"order holds {order.min()} to {order.max()}: there are {len(values)} values")
            values = values[order]
        return np.concatenate([index, np.ascontiguousarray(values).view(np.uint8)], axis=2)
