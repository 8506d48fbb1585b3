"""`dataflow.partial_matmul`: partial sums of a matrix product, for cores that each sum over a part of K."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .base import Value, int_attr
from .contraction import MatmulOp, channels_of, cuts_pairs, held_in, widened
from .partial import PartialOp, verify_parts
from .tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from .types import Tensor, element_of, shape_of, tensor


@irdl_op_definition
class PartialMatmulOp(PartialOp):
    """
    The product of matrices [M, K] x [K, N] -> [parts, M, N], with K in `parts` ranges of equal size. Element p of the
    result's first dimension is the sum over range p alone; the sum of all parts is the product. `transpose_a`,
    `transpose_b` and element types are as in `matmul`.

    Iteration space: (part, M, N, K / parts).

    ```mlir
    %2 = dataflow.partial_matmul %0, %1 parts 2 : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    name = "dataflow.partial_matmul"
    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$lhs `,` $rhs `parts` $parts (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? "
        "attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        parts: int,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        result_type: Tensor | None = None,
    ):
        super().__init__(
            operands=[lhs, rhs],
            result_types=[result_type or self.infer(lhs, rhs, parts, transpose_a, transpose_b)],
            properties={
                "parts": int_attr(parts),
                "transpose_a": UnitAttr() if transpose_a else None,
                "transpose_b": UnitAttr() if transpose_b else None,
            },
        )

    @staticmethod
    def of(op: MatmulOp, parts: int) -> PartialMatmulOp:
        """The partial sums of the product of two matrices."""
        return PartialMatmulOp(
            op.lhs, op.rhs, parts, transpose_a=op.transpose_a is not None, transpose_b=op.transpose_b is not None,
            result_type=tensor(element_of(op.result), (parts, *op.result_shape)),
        )  # fmt: skip

    @staticmethod
    def infer(lhs: Value, rhs: Value, parts: int, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """The result type; raises VerifyException for inconsistent operands and attributes."""
        whole = MatmulOp.infer(lhs, rhs, transpose_a, transpose_b)
        if len(whole.get_shape()) != 2 or len(shape_of(lhs)) != 2:
            raise VerifyException(f"operands have ranks {len(shape_of(lhs))} and {len(shape_of(rhs))}: expected 2")
        k = shape_of(rhs)[1 if transpose_b else 0] if held_in(lhs) == 2 else shape_of(lhs)[0 if transpose_a else 1]
        verify_parts(parts, k, "elements along K", lhs, rhs)
        return tensor(whole.element_type, (parts, *whole.get_shape()))

    def expected_type(self) -> Tensor:
        flipped = self.transpose_a is not None, self.transpose_b is not None
        return widened(self.infer(self.lhs, self.rhs, self.part_count, *flipped), self.result_type)

    def inner_axis(self, position: int) -> int:
        flipped = (self.transpose_a, self.transpose_b)[position] is not None
        return 1 if flipped == (position == 1) else 0

    @property
    def part_size(self) -> int:
        wide = 1 if held_in(self.lhs) == 2 else 0
        return self.operand_shape(wide)[self.inner_axis(wide)] // self.part_count

    def iteration_space(self) -> tuple[IterDim, ...]:
        parallel = tuple(IterDim(size, DimKind.PARALLEL) for size in self.result_shape)
        return (*parallel, IterDim(self.part_size, DimKind.REDUCTION))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        other, summed = 1 + index, self.inner_axis(index)
        first, count = self.part_of(index, *self.around_parts(tile, 3))
        offsets, sizes = [tile.offsets[other]] * 2, [tile.sizes[other]] * 2
        offsets[summed], sizes[summed] = first, count
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)))

    def may_split(self, dim: int, parts: int) -> bool:
        whole = dim != 3 or 2 not in (held_in(self.lhs), held_in(self.rhs))
        return whole or not cuts_pairs(self.part_size, parts)

    def result_box(self, tile: Box) -> Box:
        return Box(tile.offsets[:3], tile.sizes[:3])

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        from .movement import ConcatOp
        from .reshape import ReshapeOp

        ops: list[Operation] = []
        found: list[SSAValue] = []
        for number in range(tile.sizes[0]):
            slices = [
                channels_of(
                    value, self.inner_axis(index), *self.part_of(index, number * self.part_size, tile.sizes[3]),
                    shape_of(value),
                )
                for index, value in enumerate(operands)
            ]  # fmt: skip
            product = MatmulOp(
                *(one.results[0] for one in slices),
                transpose_a=self.transpose_a is not None, transpose_b=self.transpose_b is not None,
                result_element=self.result_type.element_type,
            )  # fmt: skip
            shaped = ReshapeOp(product.result, (1, *product.result_shape))
            ops += [*slices, product, shaped]
            found.append(shaped.result)
        return (*ops, ConcatOp(found, 0))

    def preferred_dims(self) -> tuple[int, ...]:
        return tuple(dim for dim, one in enumerate(self.iteration_space()[:3]) if one.size > 1)

    def cost(self, tile: Box) -> OpCost:
        parts, m, n, k = tile.sizes
        return self.product_cost(tile, tile.volume, (parts, m, k, n))
