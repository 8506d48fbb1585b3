"""`dataflow.scatter`: rows that are replaced by, or combined with, updates at positions given by indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, IntegerAttr, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .base import TiledOp, Value, int_attr
from .tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from .types import Tensor, element_bytes, element_of, is_bool, shape_of, tensor


class ScatterMode(StrEnum):
    """How an update changes an element."""

    SET = "set"
    """The update replaces it; of several updates, the last in row-major order of the indices."""
    ADD = "add"
    MAX = "max"


@irdl_attr_definition
class ScatterModeAttr(EnumAttribute[ScatterMode], SpacedOpaqueSyntaxAttribute):
    """
    How a scatter changes a row of `data`: sets it, adds to it, or keeps the maximum.

    ```mlir
    #dataflow<scatter_mode add>
    ```
    """

    name = "dataflow.scatter_mode"


@irdl_op_definition
class ScatterOp(TiledOp):
    """
    `data` with rows changed by `updates`: set, added to, or replaced by the maximum. `indices` (i32 or i64; negative
    ones count from the end) select the rows. All operands share the first `batch` dimensions, and for each position b
    of these, result = data, and then for n ascending result[b..., indices[b..., n], i...] = mode(result[b...,
    indices[b..., n], i...], updates[b..., n, i...]).

    ```mlir
    %3 = dataflow.scatter add %0, %1, %2 batch 1
        : (tensor<4x9x6xf32>, tensor<4x3xi64>, tensor<4x3x6xf32>) -> tensor<4x9x6xf32>
    ```
    """

    name = "dataflow.scatter"
    mode = prop_def(ScatterModeAttr)
    data = operand_def(Tensor)
    indices = operand_def(Tensor)
    updates = operand_def(Tensor)
    batch = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = (
        "$mode $data `,` $indices `,` $updates `batch` $batch attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, mode: ScatterMode | str, data: Value, indices: Value, updates: Value, batch: int = 0):
        super().__init__(
            operands=[data, indices, updates],
            result_types=[self.infer(ScatterMode(mode), data, indices, updates, batch)],
            properties={"mode": ScatterModeAttr(ScatterMode(mode)), "batch": int_attr(batch)},
        )

    @staticmethod
    def infer(mode: ScatterMode, data: Value, indices: Value, updates: Value, batch: int) -> Tensor:
        """The result type; raises VerifyException for inconsistent shapes or types."""
        shape, positions = shape_of(data), shape_of(indices)
        if not 0 <= batch < len(shape):
            raise VerifyException(f"batch = {batch} should be in [0, {len(shape)}), less than the rank of data")
        if element_of(indices) not in (i32, i64):
            raise VerifyException(f"indices have element type {element_of(indices)}: expected i32 or i64")
        if len(positions) != batch + 1 or positions[:batch] != shape[:batch]:
            raise VerifyException(
                f"indices have shape {list(positions)}: expected {[*shape[:batch], 'n']}, a row of them for each batch"
            )
        expected = (*positions, *shape[batch + 1 :])
        if shape_of(updates) != expected or element_of(updates) != element_of(data):
            raise VerifyException(f"updates have type {SSAValue.get(updates).type}: expected {expected} of data's type")
        if mode is not ScatterMode.SET and is_bool(element_of(data)):
            raise VerifyException(f"data has element type i1, which has no '{mode}': expected float or integer")
        return tensor(element_of(data), shape)

    def expected_type(self) -> Tensor:
        return self.infer(self.mode.data, self.data, self.indices, self.updates, self.batch_dims)

    @property
    def batch_dims(self) -> int:
        """Number of leading dimensions that all operands share; this is also the number of the dimension of rows."""
        return self.batch.value.data

    def iteration_space(self) -> tuple[IterDim, ...]:
        # The rows that change depend on the indices: each tile has all rows.
        return tuple(
            IterDim(size, DimKind.WHOLE if dim == self.batch_dims else DimKind.PARALLEL)
            for dim, size in enumerate(self.result_shape)
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        if index == 0:
            return OperandSlice.of(tile)
        batch, count = self.batch_dims, self.operand_shape(1)[-1]
        offsets, sizes = (*tile.offsets[:batch], 0), (*tile.sizes[:batch], count)
        if index == 2:
            offsets, sizes = (*offsets, *tile.offsets[batch + 1 :]), (*sizes, *tile.sizes[batch + 1 :])
        return OperandSlice.of(Box(offsets, sizes))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        data, indices, updates = operands
        return (ScatterOp(self.mode.data, data, indices, updates, self.batch_dims),)

    def cost(self, tile: Box) -> OpCost:
        updates = self.operand_slice(2, tile).box.volume * element_bytes(element_of(self.data))
        return OpCost("DAU", 0, 0, lambda: self.bytes_of_tile(tile) + updates)
