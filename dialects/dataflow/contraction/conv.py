"""`dataflow.conv`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import I64, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ....formats.sparse.nonzero import Nonzero
from ..base import Value, int_attr, int_list, ints, padded_range, shares_attr, verify_list
from ..constants import scalar_array
from ..sliding import SlidingOp
from ..tiling import Box, Combine, DimKind, IterDim, OpCost, OperandSlice
from ..types import Shape, Tensor, element_of, is_float, shape_of, tensor, tensor_of, window_output
from .base import ContractionOp
from .element_types import contraction_element, cuts_pairs, held_as, held_in, narrow_operand, pairs_of_slice, widened

if TYPE_CHECKING:
    from ..partial_conv import PartialConvOp


@irdl_op_definition
class ConvOp(SlidingOp, ContractionOp):
    """
    Convolution (without flipping the kernel) of [N, C, S...] with weights [O, C / groups, K...], over 1 to 3 spatial
    dimensions. Positions outside of the operand count as 0; for integers, they count as `pad_value`, the zero point of
    quantised values. There is no bias operand: a bias is an `add` of [1, O, 1...]. `nonzero` is as in `matmul`. If the
    operand has floats and the weights have 8-bit integers, each core converts the weights; likewise for weights of
    pairs of 4-bit integers, which are neighbouring input channels, if the operand has floats or i8.

    Iteration space: (N, O, spatial dimensions of the result..., C / groups, K...).

    ```mlir
    %2 = dataflow.conv %0, %1 strides [2, 2] dilations [1, 1] pad [1, 1] to [1, 1] groups 1
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
    ```
    """

    name = "dataflow.conv"
    operand = operand_def(Tensor)
    weights = operand_def(Tensor)
    groups = prop_def(IntegerAttr[I64])
    pad_value = opt_prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = (
        "$operand `,` $weights `strides` $strides `dilations` $dilations `pad` $pad_low `to` $pad_high "
        "`groups` $groups (`pad_value` $pad_value^)? (`nonzero` $nonzero^)? attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: Value,
        weights: Value,
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pad_low: Sequence[int] | None = None,
        pad_high: Sequence[int] | None = None,
        groups: int = 1,
        pad_value: int = 0,
        result_element: Attribute | None = None,
        nonzero: Nonzero | None = None,
    ):
        spatial = len(shape_of(operand)) - 2
        strides = strides if strides is not None else (1,) * spatial
        dilations = dilations if dilations is not None else (1,) * spatial
        pad_low = pad_low if pad_low is not None else (0,) * spatial
        pad_high = pad_high if pad_high is not None else (0,) * spatial
        type = self.infer(operand, weights, strides, dilations, pad_low, pad_high, groups)
        if result_element is not None:
            type = tensor(result_element, type.get_shape())
        super().__init__(
            operands=[operand, weights],
            result_types=[type],
            properties={
                "strides": int_list(strides),
                "dilations": int_list(dilations),
                "pad_low": int_list(pad_low),
                "pad_high": int_list(pad_high),
                "groups": int_attr(groups),
                "pad_value": int_attr(pad_value) if pad_value else None,
                "nonzero": shares_attr(nonzero),
            },
        )

    def verify_(self) -> None:
        element = element_of(self.operand)
        if self.pad_value is not None and (is_float(element) or scalar_array(self.padding, element) != self.padding):
            raise VerifyException(f"pad_value = {self.padding} should be one of the operand's {element}, an integer")
        super().verify_()

    @property
    def padding(self) -> int:
        """The value of positions outside the operand."""
        return 0 if self.pad_value is None else self.pad_value.value.data

    @staticmethod
    def infer(
        operand: Value,
        weights: Value,
        strides: Sequence[int],
        dilations: Sequence[int],
        pad_low: Sequence[int],
        pad_high: Sequence[int],
        groups: int,
    ) -> Tensor:
        """The result type; raises VerifyException for inconsistent operands and attributes."""
        x, w = shape_of(operand), shape_of(weights)
        spatial = len(x) - 2
        if not 1 <= spatial <= 3 or len(w) != len(x):
            raise VerifyException(f"operands have ranks {len(x)} and {len(w)}: expected equal ranks from 3 to 5")
        verify_list("strides", strides, spatial, "spatial dimension", 1)
        verify_list("dilations", dilations, spatial, "spatial dimension", 1)
        verify_list("pad_low", pad_low, spatial, "spatial dimension", 0)
        verify_list("pad_high", pad_high, spatial, "spatial dimension", 0)
        if groups < 1 or w[0] % groups:
            raise VerifyException(f"groups = {groups} should be a positive divisor of the {w[0]} output channels")
        if x[1] % groups or held_as(weights, x[1] // groups) != w[1]:
            pairs = "pairs of " if held_in(weights) == 2 else ""
            raise VerifyException(
                f"weights have {w[1]} {pairs}channels in each of {groups} groups: "
                f"expected {w[1] * groups * held_in(weights)} input channels, operand has {x[1]}"
            )
        if w[1] < 1:
            raise VerifyException("weights have 0 channels: expected at least 1")
        if min(w[2:]) < 1:
            raise VerifyException(f"weights have kernel {list(w[2:])}: expected at least 1 in each dimension")
        out = tuple(
            window_output(x[2 + d], w[2 + d], strides[d], dilations[d], pad_low[d], pad_high[d]) for d in range(spatial)
        )
        if min(out) < 1:
            raise VerifyException(
                f"kernel {list(w[2:])} with dilations {list(dilations)} is larger than the padded operand of shape "
                f"{list(x)}"
            )
        if narrow_operand(operand, weights) == 0:
            raise VerifyException(
                f"operands have element types {element_of(operand)} and {element_of(weights)}: only weights are widened"
            )
        return tensor(contraction_element(operand, weights), (x[0], w[0], *out))

    def expected_type(self) -> Tensor:
        inferred = self.infer(self.operand, self.weights, **self.sliding, groups=self.group_count)
        return widened(inferred, self.result_type)

    @property
    def group_count(self) -> int:
        return self.groups.value.data

    @property
    def taps(self) -> int:
        return math.prod(self.kernel)

    @property
    def is_padded(self) -> bool:
        return any((*ints(self.pad_low), *ints(self.pad_high)))

    def inner_axis(self, position: int) -> int:
        return 1

    def output_axis(self, position: int) -> int:
        return 0

    def result_axis(self, position: int) -> int:
        return 1

    @property
    def spatial(self) -> int:
        """Number of spatial dimensions."""
        return len(self.operand_shape(0)) - 2

    @property
    def kernel(self) -> Shape:
        """Sizes of the kernel."""
        return self.operand_shape(1)[2:]

    @property
    def group_channels(self) -> int:
        """Input channels of a group."""
        return self.operand_shape(0)[1] // self.group_count

    @property
    def is_depthwise(self) -> bool:
        return self.group_channels == 1 and self.group_count > 1

    def iteration_space(self) -> tuple[IterDim, ...]:
        n, o, *out = self.result_shape
        reduced = (self.group_channels, *self.kernel)
        return (
            IterDim(n, DimKind.PARALLEL),
            IterDim(o, DimKind.PARALLEL),
            *(IterDim(size, DimKind.WINDOW) for size in out),
            *(IterDim(size, DimKind.REDUCTION) for size in reduced),
        )

    def groups_of_tile(self, tile: Box) -> list[tuple[int, int, int]]:
        """
        The groups of a tile's output channels: (group, first output channel, number of output channels), where channels
        are counted from the tile's first one. A tile without channels is in one group.
        """
        size = self.operand_shape(1)[0] // self.group_count
        begin, count = tile.offsets[1], tile.sizes[1]
        if not count:
            return [(min(begin // max(1, size), self.group_count - 1), 0, 0)]
        group_ranges: list[tuple[int, int, int]] = []
        for group in range(begin // size, (begin + count - 1) // size + 1):
            low, high = max(begin, group * size), min(begin + count, (group + 1) * size)
            group_ranges.append((group, low - begin, high - low))
        return group_ranges

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        reduced = 2 + self.spatial
        if index == 1:
            first, count = tile.offsets[reduced], tile.sizes[reduced]
            if held_in(self.weights) == 2:
                first, count = pairs_of_slice(first, count)
            kernel = reduced + 1
            return OperandSlice.of(
                Box((tile.offsets[1], first, *tile.offsets[kernel:]), (tile.sizes[1], count, *tile.sizes[kernel:]))
            )
        group_ranges = self.groups_of_tile(tile)
        channels = self.group_channels
        first = group_ranges[0][0] * channels
        count = len(group_ranges) * channels
        if len(group_ranges) == 1:
            first, count = first + tile.offsets[reduced], tile.sizes[reduced]
        space = padded_windows(self, tile)
        box = Box((tile.offsets[0], first, *space.box.offsets), (tile.sizes[0], count, *space.box.sizes))
        zero = 0.0 if is_float(element_of(self.operand)) else self.padding
        return OperandSlice(box, (0, 0, *space.pad_low), (0, 0, *space.pad_high), zero)

    def result_box(self, tile: Box) -> Box:
        kept = 2 + self.spatial
        return Box(tile.offsets[:kept], tile.sizes[:kept])

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        x, w = operands
        group_ranges = self.groups_of_tile(tile)
        per_group = self.operand_shape(1)[0] // self.group_count
        channels = tile.sizes[2 + self.spatial]
        whole_groups = all(size == per_group for _, _, size in group_ranges)
        if len(group_ranges) == 1 or (whole_groups and channels == self.group_channels):
            return (self._tile_conv(x, w, len(group_ranges)),)
        # The tile has parts of several groups: one convolution for each, concatenated along the output channels.
        from ..movement import ConcatOp

        ops: list[Operation] = []
        parts: list[SSAValue] = []
        x_shape, w_shape = shape_of(x), shape_of(w)
        group_channels = self.group_channels
        for number, (_, first, size) in enumerate(group_ranges):
            start = number * group_channels + tile.offsets[2 + self.spatial]
            x_part = channels_of(x, 1, start, channels, x_shape)
            w_part = channels_of(w, 0, first, size, w_shape)
            conv = self._tile_conv(x_part.results[0], w_part.results[0], 1)
            ops += [x_part, w_part, conv]
            parts.append(conv.result)
        return (*ops, ConcatOp(parts, 1))

    def _tile_conv(self, x: SSAValue, w: SSAValue, groups: int) -> ConvOp:
        """The convolution of a tile's padded operand, which has no elements after the last window."""
        return ConvOp(
            x,
            w,
            strides=ints(self.strides),
            dilations=ints(self.dilations),
            groups=groups,
            result_element=tensor_of(self.result).element_type,
            nonzero=None if self.nonzero is None else self.expected,
        )

    @property
    def combine(self) -> Combine | None:
        return "add"

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        shape = self.operand_slice(index, tile).shape
        per_group = self.operand_shape(1)[0] // self.group_count
        size = tile.sizes[1]
        if index == 1 or self.group_count == 1 or size % per_group == 0 or per_group % size == 0:
            return shape
        # Tiles that are not aligned to groups may read one more group, depending on their position.
        touched = min(self.group_count, (size - 1) // per_group + 2)
        return (shape[0], max(shape[1], touched * self.group_channels), *shape[2:])

    def may_split(self, dim: int, parts: int) -> bool:
        if dim == 2 + self.spatial and held_in(self.weights) == 2:
            return not cuts_pairs(self.group_channels, parts)
        # Tiles of output channels consist of whole groups, or are part of one.
        per_group = self.operand_shape(1)[0] // self.group_count
        if dim != 1 or self.group_count == 1 or per_group == 1:
            return True
        size, rest = divmod(self.operand_shape(1)[0], parts)
        return not rest and (size % per_group == 0 or per_group % size == 0)

    def preferred_dims(self) -> tuple[int, ...]:
        # Images, output channels, space; input channels last, because partial sums reassociate.
        order = range(3 + self.spatial)
        space = self.iteration_space()
        return tuple(dim for dim in order if space[dim].size > 1)

    def cost(self, tile: Box) -> OpCost:
        macs = math.prod(tile.sizes)
        kept = 2 + self.spatial
        rows = tile.sizes[0] * math.prod(tile.sizes[2:kept])
        groups = len(self.groups_of_tile(tile)) if tile.volume else 1
        columns = -(-tile.sizes[1] // groups)
        products = groups, rows, math.prod(tile.sizes[kept:]), columns
        window = (tile.sizes[0], *tile.sizes[2:kept]), tile.sizes[kept:]
        if self.is_depthwise:
            cost = self.cost_on("VPU", tile, macs=macs, vpu_ops=macs)
            return replace(cost, window=window, groups=products if groups > 1 else None)
        return replace(self.product_cost(tile, macs, products), window=window)


def padded_windows(op: ConvOp | PartialConvOp, tile: Box) -> OperandSlice:
    """The part of its operand that a tile of a convolution reads, with padding, in the spatial dimensions."""
    shape, spatial = op.operand_shape(0), op.spatial
    offsets, sizes, low, high = [0] * spatial, [0] * spatial, [0] * spatial, [0] * spatial
    strides, dilations, pads = ints(op.strides), ints(op.dilations), ints(op.pad_low)
    for dim in range(spatial):
        out, k = 2 + dim, 3 + spatial + dim
        start = tile.offsets[out] * strides[dim] + tile.offsets[k] * dilations[dim] - pads[dim]
        length = (tile.sizes[out] - 1) * strides[dim] + (tile.sizes[k] - 1) * dilations[dim] + 1
        offsets[dim], sizes[dim], low[dim], high[dim] = padded_range(start, length, shape[2 + dim])
    return OperandSlice(Box(tuple(offsets), tuple(sizes)), tuple(low), tuple(high))


def channels_of(value: SSAValue, axis: int, start: int, size: int, shape: Shape) -> Operation:
    """The operation that slices `value`, whose shape is `shape`, along one axis."""
    from ..movement import SliceOp

    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = start, size
    return SliceOp(value, starts, sizes)
