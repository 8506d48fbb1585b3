"""`dataflow.partial_conv`: partial sums of a convolution, for cores that each sum over some of the input channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from .base import Value, int_attr, int_list, ints
from .contraction import ConvOp, channels_of, cuts_pairs, held_in, padded_windows, widened
from .partial import PartialOp, verify_parts
from .sliding import SlidingOp
from .tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from .types import Tensor, element_of, is_float, shape_of, tensor, tensor_of


@irdl_op_definition
class PartialConvOp(SlidingOp, PartialOp):
    """
    The convolution of one image [1, C, S...] with weights [O, C, K...], with the input channels in `parts` groups of
    equal size. Element p of the result's first dimension is the sum over group p alone; the sum of all parts is the
    convolution.

    Iteration space: (part, O, spatial dimensions of the result..., C / parts, K...).

    ```mlir
    %2 = dataflow.partial_conv %0, %1 parts 2 strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0]
      : (tensor<1x6x8x8xf32>, tensor<4x6x1x1xf32>) -> tensor<2x4x8x8xf32>
    ```
    """

    name = "dataflow.partial_conv"
    operand = operand_def(Tensor)
    weights = operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = (
        "$operand `,` $weights `parts` $parts `strides` $strides `dilations` $dilations `pad` $pad_low `to` $pad_high "
        "attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: Value,
        weights: Value,
        parts: int,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        pad_low: Sequence[int],
        pad_high: Sequence[int],
        result_type: Tensor | None = None,
    ):
        type = self.infer(operand, weights, parts, strides, dilations, pad_low, pad_high)
        super().__init__(
            operands=[operand, weights],
            result_types=[type if result_type is None else result_type],
            properties={
                "parts": int_attr(parts),
                "strides": int_list(strides),
                "dilations": int_list(dilations),
                "pad_low": int_list(pad_low),
                "pad_high": int_list(pad_high),
            },
        )

    @staticmethod
    def of(conv: ConvOp, parts: int) -> PartialConvOp:
        """The partial sums of a convolution of one image without groups."""
        type = tensor(element_of(conv.result), (parts, *conv.result_shape[1:]))
        return PartialConvOp(conv.operand, conv.weights, parts, **conv.sliding, result_type=type)

    @staticmethod
    def infer(
        operand: Value,
        weights: Value,
        parts: int,
        strides: Sequence[int],
        dilations: Sequence[int],
        pad_low: Sequence[int],
        pad_high: Sequence[int],
    ) -> Tensor:
        """The result type; raises VerifyException for inconsistent operands and attributes."""
        whole = ConvOp.infer(operand, weights, strides, dilations, pad_low, pad_high, 1)
        images, channels = shape_of(operand)[:2]
        if images != 1:
            raise VerifyException(f"the operand has {images} images: expected 1")
        verify_parts(parts, channels, "input channels", weights)
        return tensor(whole.element_type, (parts, *whole.get_shape()[1:]))

    def expected_type(self) -> Tensor:
        inferred = self.infer(self.operand, self.weights, self.part_count, **self.sliding)
        return widened(inferred, self.result_type)

    def inner_axis(self, position: int) -> int:
        return 1

    @property
    def part_size(self) -> int:
        return self.operand_shape(0)[1] // self.part_count

    @property
    def spatial(self) -> int:
        """Number of spatial dimensions."""
        return len(self.operand_shape(0)) - 2

    def iteration_space(self) -> tuple[IterDim, ...]:
        parts, outputs, *out = self.result_shape
        return (
            IterDim(parts, DimKind.PARALLEL),
            IterDim(outputs, DimKind.PARALLEL),
            *(IterDim(size, DimKind.WINDOW) for size in out),
            IterDim(self.part_size, DimKind.REDUCTION),
            *(IterDim(size, DimKind.REDUCTION) for size in self.operand_shape(1)[2:]),
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        first, count = self.part_of(index, *self.around_parts(tile, 2 + self.spatial))
        kernel = 3 + self.spatial
        if index == 1:
            offsets = (tile.offsets[1], first, *tile.offsets[kernel:])
            return OperandSlice.of(Box(offsets, (tile.sizes[1], count, *tile.sizes[kernel:])))
        space = padded_windows(self, tile)
        box = Box((0, first, *space.box.offsets), (min(1, tile.sizes[0]), count, *space.box.sizes))
        zero = 0.0 if is_float(element_of(self.operand)) else 0
        return OperandSlice(box, (0, 0, *space.pad_low), (0, 0, *space.pad_high), zero)

    def result_box(self, tile: Box) -> Box:
        kept = 2 + self.spatial
        return Box(tile.offsets[:kept], tile.sizes[:kept])

    def may_split(self, dim: int, parts: int) -> bool:
        channels = dim == 2 + self.spatial and held_in(self.weights) == 2
        return not channels or not cuts_pairs(self.part_size, parts)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        from .movement import ConcatOp

        x, w = operands
        channels = tile.sizes[2 + self.spatial]
        ops: list[Operation] = []
        parts: list[SSAValue] = []
        for number in range(tile.sizes[0]):
            x_part = channels_of(x, 1, number * self.part_size, channels, shape_of(x))
            w_part = channels_of(w, 1, *self.part_of(1, number * self.part_size, channels), shape_of(w))
            conv = ConvOp(
                x_part.results[0], w_part.results[0], strides=ints(self.strides), dilations=ints(self.dilations),
                result_element=tensor_of(self.result).element_type,
            )  # fmt: skip
            ops += [x_part, w_part, conv]
            parts.append(conv.result)
        return (*ops, ConcatOp(parts, 0))

    def preferred_dims(self) -> tuple[int, ...]:
        space = self.iteration_space()
        return tuple(dim for dim in range(3 + self.spatial) if space[dim].size > 1)

    def cost(self, tile: Box) -> OpCost:
        kept = 2 + self.spatial
        rows, depth = math.prod(tile.sizes[2:kept]), math.prod(tile.sizes[kept:])
        matmul = (tile.sizes[0], rows, depth, tile.sizes[1])
        return self.product_cost(tile, math.prod(tile.sizes), matmul)
