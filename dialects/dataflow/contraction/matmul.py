"""`dataflow.matmul`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ....formats.sparse.nonzero import Nonzero
from ..base import Value, shares_attr
from ..tiling import Box, Combine, DimKind, IterDim, OpCost, OperandSlice
from ..types import Tensor, broadcast_shapes, element_of, shape_of, tensor
from .base import ContractionOp
from .element_types import contraction_element, cuts_pairs, held_as, held_in, narrow_pairs, pairs_of_slice, widened

MIN_SHARED_TERMS = 128
"""
Least number of terms of a sum that is divided between the matrix unit and the vector unit. Each unit adds up some of
the terms; with fewer terms, the addition of the two sums costs more than it saves. Measured: steps of wide recurrent
layers take up to 21% fewer cycles.
"""


@irdl_op_definition
class MatmulOp(ContractionOp):
    """
    Matrix product [..., M, K] x [..., K, N] -> [..., M, N]; batch dimensions broadcast. With `transpose_a` the first
    operand is [..., K, M], with `transpose_b` the second is [..., N, K].

    Sums are computed in f32 for f16 and bf16, and in i32 for 8-bit and 16-bit integers (the result is i32). `nonzero
    [0.4]` is an estimate, for planning: the share of the first operand's elements that are not zero. If one operand has
    8-bit integers and the other floats, each core converts the integers to that float type; likewise for pairs of 4-bit
    integers along K, if the other operand has floats or i8.

    Iteration space: (batch..., M, N, K).

    ```mlir
    %2 = dataflow.matmul %0, %1 transpose_b : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
    ```
    """

    name = "dataflow.matmul"
    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$lhs `,` $rhs (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`nonzero` $nonzero^)? "
        "attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        result_element: Attribute | None = None,
        nonzero: Nonzero | None = None,
    ):
        type = self.infer(lhs, rhs, transpose_a, transpose_b)
        if result_element is not None:
            type = tensor(result_element, type.get_shape())
        super().__init__(
            operands=[lhs, rhs],
            result_types=[type],
            properties={
                "transpose_a": UnitAttr() if transpose_a else None,
                "transpose_b": UnitAttr() if transpose_b else None,
                "nonzero": shares_attr(nonzero),
            },
        )

    @staticmethod
    def infer(lhs: Value, rhs: Value, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
        """The result type; raises VerifyException for operands of unsuitable types."""
        a, b = shape_of(lhs), shape_of(rhs)
        if len(a) < 2 or len(b) < 2:
            raise VerifyException(f"operands have ranks {len(a)} and {len(b)}: expected at least 2")
        m, k = (a[-1], a[-2]) if transpose_a else (a[-2], a[-1])
        k_b, n = (b[-1], b[-2]) if transpose_b else (b[-2], b[-1])
        if held_as(lhs, k_b) != k if held_in(lhs) == 2 else held_as(rhs, k) != k_b:
            raise VerifyException(
                f"operands have shapes {list(a)} and {list(b)}: K is {k} in one and {k_b} in the other"
            )
        if k == 0:
            raise VerifyException(f"operands have shapes {list(a)} and {list(b)}: K is 0, expected at least 1")
        return tensor(contraction_element(lhs, rhs), (*broadcast_shapes(a[:-2], b[:-2]), m, n))

    def expected_type(self) -> Tensor:
        inferred = self.infer(self.lhs, self.rhs, self.transpose_a is not None, self.transpose_b is not None)
        return widened(inferred, self.result_type)

    def inner_axis(self, position: int) -> int:
        rank, is_transposed = (
            len(self.operand_shape(position)),
            (self.transpose_a, self.transpose_b)[position] is not None,
        )
        return rank - 1 if is_transposed == (position == 1) else rank - 2

    def output_axis(self, position: int) -> int:
        return 2 * len(self.operand_shape(position)) - 3 - self.inner_axis(position)

    def result_axis(self, position: int) -> int:
        return len(self.result_shape) - (1 if position == 1 else 2)

    def iteration_space(self) -> tuple[IterDim, ...]:
        wide = 1 if held_in(self.lhs) == 2 else 0
        k = self.operand_shape(wide)[self.inner_axis(wide)]
        parallel = tuple(IterDim(size, DimKind.PARALLEL) for size in self.result_shape)
        return (*parallel, IterDim(k, DimKind.REDUCTION))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        *_, m, n, k = range(tile.rank)
        rows, columns = (m, k) if index == 0 else (k, n)
        if (self.transpose_a if index == 0 else self.transpose_b) is not None:
            rows, columns = columns, rows
        shape = self.operand_shape(index)
        offsets: list[int] = []
        sizes: list[int] = []
        batch = tile.rank - 3
        for dim, size in enumerate(shape[:-2], batch - (len(shape) - 2)):
            offsets.append(0 if size == 1 else tile.offsets[dim])
            sizes.append(1 if size == 1 else tile.sizes[dim])
        offsets += [tile.offsets[rows], tile.offsets[columns]]
        sizes += [tile.sizes[rows], tile.sizes[columns]]
        if held_in(self.operands[index]) == 2:
            summed = self.inner_axis(index)
            offsets[summed], sizes[summed] = pairs_of_slice(offsets[summed], sizes[summed])
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)))

    def may_split(self, dim: int, parts: int) -> bool:
        whole = narrow_pairs(self) is None or dim != len(self.result_shape)
        return whole or not cuts_pairs(self.iteration_space()[dim].size, parts)

    def result_box(self, tile: Box) -> Box:
        return Box(tile.offsets[:-1], tile.sizes[:-1])

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (
            MatmulOp(
                operands[0],
                operands[1],
                transpose_a=self.transpose_a is not None,
                transpose_b=self.transpose_b is not None,
                result_element=self.result_type.element_type,
                nonzero=None if self.nonzero is None else self.expected,
            ),
        )

    @property
    def combine(self) -> Combine | None:
        return "add"

    def preferred_dims(self) -> tuple[int, ...]:
        return tuple(dim for dim, one in enumerate(self.iteration_space()) if one.size > 1)

    def cost(self, tile: Box) -> OpCost:
        *batch, m, n, k = tile.sizes
        shared = all(size == 1 for size in self.operand_shape(1)[:-2])
        if shared:  # the weights are the same for the whole batch, whose rows are streamed one after the other
            cost = self.product_cost(tile, tile.volume, (1, math.prod(batch) * m, k, n))
            return replace(cost, in_two_sums=True) if self._is_in_two_sums else cost
        return self.product_cost(tile, tile.volume, (math.prod(batch), m, k, n))

    @property
    def _is_in_two_sums(self) -> bool:
        """
        Whether the terms of the sums are divided between the matrix unit and the vector unit: in a product of one row
        in f32 with at least `MIN_SHARED_TERMS` terms, without expected zeros.
        """
        terms = self.operand_shape(0)[self.inner_axis(0)]
        elements = {element_of(value) for value in (*self.operands, self.result)}
        is_row = math.prod(self.result_shape[:-1]) == 1 and self.nonzero is None
        return is_row and elements == {f32} and terms >= MIN_SHARED_TERMS

    def scratch_bytes(self, tile: Box) -> int:
        """Bytes for widening, or for the second sum if the terms are divided between both units."""
        return 4 * tile.sizes[-2] if self._is_in_two_sums else super().scratch_bytes(tile)
