"""Contractions: matrix products and convolutions, the work of the matrix unit."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, UnitAttr, f32, f64, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...formats.pairs import pairs_along
from ...formats.sparse.nonzero import Nonzero
from .base import (
    TiledOp,
    Value,
    int_attr,
    int_list,
    ints,
    nonzero_of,
    padded_range,
    shares_attr,
    verify_list,
    verify_shares,
)
from .constants import scalar_array
from .sliding import SlidingOp
from .tiling import Box, Combine, DimKind, IterDim, OpCost, OperandSlice, split_blocks, split_evenly
from .types import (
    Shape,
    Tensor,
    accumulator_type,
    broadcast_shapes,
    element_bytes,
    element_of,
    is_bool,
    is_float,
    is_pair,
    shape_of,
    tensor,
    tensor_of,
    ui8,
    window_output,
)
from .widening import widened_bytes

if TYPE_CHECKING:
    from .partial import PartialOp
    from .partial_conv import PartialConvOp


MIN_SHARED_TERMS = 128
"""
Least number of terms of a sum that the matrix and the vector unit share. Each sums up some of the terms, and for fewer
terms, adding the two sums is not worth it. Measured: steps of wide recurrent layers take up to 21% fewer cycles.
"""


def contraction_element(lhs: Value, rhs: Value) -> Attribute:
    """
    Element type of a product's result: floats keep theirs, 8-bit and 16-bit integers sum in i32.

    Raises VerifyException for operands of different types, unless one is narrower and is widened to the type of the
    other (`narrow_operand`).
    """
    a, b = element_of(lhs), element_of(rhs)
    if is_bool(a) or is_bool(b):
        raise VerifyException("operands have element type i1: expected float or integer")
    narrow = narrow_operand(lhs, rhs)
    if narrow is None and (a != b or is_pair(a)):
        raise VerifyException(
            f"operands have element types {a} and {b}: expected equal ones, a float and an integer of 8 bits, or one of"
            " these and pairs of 4 bits"
        )
    return accumulator_type(b if narrow == 0 else a)


def narrow_operand(lhs: Value, rhs: Value) -> int | None:
    """
    Which operand of a product, 0 or 1, is widened to the type of the other one: integers of 8 bits beside floats, pairs
    of 4 bits beside floats and i8. None of other types.
    """
    a, b = element_of(lhs), element_of(rhs)
    return 1 if _widens(b, a) else 0 if _widens(a, b) else None


def _widens(narrow: Attribute, wide: Attribute) -> bool:
    return (is_float(wide) and (narrow in (i8, ui8) or is_pair(narrow))) or (wide == i8 and is_pair(narrow))


def narrow_pairs(op: TiledOp) -> int | None:
    """Which operand of a contraction is pairs of 4-bit integers; None: neither."""
    narrow = narrow_operand(*op.operands[:2])
    return narrow if narrow is not None and held_in(op.operands[narrow]) == 2 else None


def pairs_of_slice(offset: int, size: int) -> tuple[int, int]:
    """(First, number) of the pairs around `size` integers from `offset` on."""
    first = offset // 2
    return first, pairs_along(offset + size) - first if size else 0


def cuts_pairs(size: int, parts: int) -> bool:
    """Whether cutting so many integers into parts, evenly or in blocks of equal size, cuts within a pair."""
    ranges = (*split_evenly(size, parts), *split_blocks(size, parts))
    return any(low % 2 and extent for low, extent in ranges)


def widened(inferred: Tensor, actual: Tensor) -> Tensor:
    """The inferred type, with f32 elements where a product of narrow floats asks for them."""
    if is_float(inferred.element_type) and actual.element_type == f32 and inferred.element_type != f32:
        if element_bytes(inferred.element_type) < 4:
            return tensor(f32, inferred.get_shape())
    return inferred


def scratch_of_widening(op: ContractionOp | PartialOp, tile: Box) -> int:
    """Bytes of memory for what is widened of a contraction's narrow operand, for tiles of these sizes."""
    narrow = narrow_operand(*op.operands[:2])
    if narrow is None or not tile.volume or _used_once(op, narrow, tile):
        return 0
    shape = op.largest_slice(narrow, tile)
    first = op.inner_axis(narrow)
    wide = element_bytes(element_of(op.operands[1 - narrow]))
    depth = shape[first] * held_in(op.operands[narrow])
    return widened_bytes(depth, math.prod(shape) // max(1, shape[first]) * wide)


def cost_with_widening(op: TiledOp, cost: OpCost, tile: Box) -> OpCost:
    """The cost of a contraction with that of widening its narrow operand."""
    narrow = narrow_operand(*op.operands[:2])
    if narrow is None:
        return cost
    if _used_once(op, narrow, tile):
        return replace(cost, item_bytes=element_bytes(element_of(op.operands[1 - narrow])))
    elements = op.operand_slice(narrow, tile).box.volume * held_in(op.operands[narrow])
    wide = element_bytes(element_of(op.operands[1 - narrow]))
    return replace(cost, widened=(elements, elements * wide), item_bytes=wide)


def _used_once(op: TiledOp, narrow: int, tile: Box) -> bool:
    """Whether each element of the narrow operand is multiplied once, by f32: vector units do so without widening it."""
    floats = element_of(op.operands[1 - narrow]) == element_of(op.results[0]) == f32
    elements = op.operand_slice(narrow, tile).box.volume * held_in(op.operands[narrow])
    return floats and tile.volume <= elements


def held_in(value: Value) -> int:
    """Integers in each element of a value: 2 in pairs, else 1."""
    return 2 if is_pair(element_of(value)) else 1


def held_as(value: Value, size: int) -> int:
    """How long the axis of a value is along which it has so many integers (or floats)."""
    return pairs_along(size) if held_in(value) == 2 else size


class ContractionOp(TiledOp, abc.ABC):
    """
    What contractions share: `nonzero` says which share of the first operand's elements is expected not to be zero (see
    `formats.sparse.nonzero`).

    A matrix unit may then leave out the others. It is an estimate: results are the same for any.
    """

    TAKES_PAIRS: ClassVar[bool] = True
    nonzero = opt_prop_def(DenseArrayBase.constr(f64))

    @property
    def group_count(self) -> int:
        """Number of groups of channels that do not meet."""
        return 1

    @property
    def taps(self) -> int:
        """Positions of the kernel: weights of an output neuron for each input channel."""
        return 1

    @property
    def is_depthwise(self) -> bool:
        """Whether each output channel reads one input channel, so that there is no matrix product to make."""
        return False

    @property
    def is_padded(self) -> bool:
        """Whether the first operand has a border."""
        return False

    @abc.abstractmethod
    def inner_axis(self, position: int) -> int:
        """The axis of operand `position` that is summed over; for a convolution, the channels."""

    @abc.abstractmethod
    def output_axis(self, position: int) -> int:
        """The axis of operand `position`, as weights, that numbers output neurons."""

    @abc.abstractmethod
    def result_axis(self, position: int) -> int:
        """The axis of the result that has the output neurons of operand `position` as weights."""

    @property
    def expected(self) -> Nonzero:
        """Which share of the first operand is expected not to be zero."""
        return nonzero_of(self.nonzero)

    def verify_(self) -> None:
        verify_shares("nonzero", self.nonzero)
        super().verify_()

    def product_cost(self, tile: Box, macs: int, matmul: tuple[int, int, int, int]) -> OpCost:
        """The cost of a tile that is matrix products of these sizes."""
        cost = replace(self.cost_on("MPU", tile, macs=macs, matmul=matmul), nonzero=self.expected)
        return cost_with_widening(self, cost, tile)

    def scratch_bytes(self, tile: Box) -> int:
        return scratch_of_widening(self, tile)


@irdl_op_definition
class MatmulOp(ContractionOp):
    """
    Matrix product [..., M, K] x [..., K, N] -> [..., M, N]; batch dimensions broadcast. With `transpose_a` the first
    operand is [..., K, M], with `transpose_b` the second is [..., N, K].

    Sums are computed in f32 for f16 and bf16, and in i32 for 8-bit and 16-bit integers (the result is i32). `nonzero
    [0.4]` is an estimate, for planning: the share of the first operand's elements that are not zero. If one operand has
    8-bit integers and the other floats, each core converts the integers to that float type; so it does with pairs of
    4-bit integers along K beside floats or i8.

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
        """The result type; raises VerifyException for operands that do not fit."""
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
        if shared:  # the weights are the same for the whole batch: its rows are streamed one after the other
            cost = self.product_cost(tile, tile.volume, (1, math.prod(batch) * m, k, n))
            return replace(cost, in_two_sums=True) if self._is_in_two_sums else cost
        return self.product_cost(tile, tile.volume, (math.prod(batch), m, k, n))

    @property
    def _is_in_two_sums(self) -> bool:
        """
        Whether the matrix and the vector unit share the terms of the sums: of a product of one row in f32 with at least
        `MIN_SHARED_TERMS` terms, and none known to be zero.
        """
        terms = self.operand_shape(0)[self.inner_axis(0)]
        elements = {element_of(value) for value in (*self.operands, self.result)}
        is_row = math.prod(self.result_shape[:-1]) == 1 and self.nonzero is None
        return is_row and elements == {f32} and terms >= MIN_SHARED_TERMS

    def scratch_bytes(self, tile: Box) -> int:
        """Those of the operation, or of the second sum where both units share the terms."""
        return 4 * tile.sizes[-2] if self._is_in_two_sums else super().scratch_bytes(tile)


@irdl_op_definition
class ConvOp(SlidingOp, ContractionOp):
    """
    Convolution (without flipping the kernel) of [N, C, S...] with weights [O, C / groups, K...], over 1 to 3 spatial
    dimensions. Positions outside of the operand count as 0; those of integers as `pad_value`, the zero point of
    quantised values. There is no bias operand: a bias is an `add` of [1, O, 1...]. `nonzero` is as in `matmul`. If the
    operand has floats and the weights have 8-bit integers, each core converts the weights; so it does with pairs of
    4-bit integers, of neighbouring input channels, beside floats or i8.

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
        """What positions outside the operand count as."""
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
        """The result type; raises VerifyException for operands and attributes that do not fit."""
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
        The groups that a tile's output channels lie in: (group, first output channel, number of output channels), the
        channels counted from the tile's first one. A tile without channels lies in one group.
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
        # The tile touches groups partly: one convolution for each, joined along the output channels.
        from .movement import ConcatOp

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
        """The convolution of a tile's padded operand. What lies behind the last window has been left out already."""
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
        # Tiles that do not follow the groups' limits touch one more of them, depending on where they lie.
        touched = min(self.group_count, (size - 1) // per_group + 2)
        return (shape[0], max(shape[1], touched * self.group_channels), *shape[2:])

    def may_split(self, dim: int, parts: int) -> bool:
        if dim == 2 + self.spatial and held_in(self.weights) == 2:
            return not cuts_pairs(self.group_channels, parts)
        # Tiles of output channels hold whole groups, or lie in one.
        per_group = self.operand_shape(1)[0] // self.group_count
        if dim != 1 or self.group_count == 1 or per_group == 1:
            return True
        size, rest = divmod(self.operand_shape(1)[0], parts)
        return not rest and (size % per_group == 0 or per_group % size == 0)

    def preferred_dims(self) -> tuple[int, ...]:
        # Frames, output channels, space; input channels last, because partial sums reassociate.
        order = range(3 + self.spatial)
        space = self.iteration_space()
        return tuple(dim for dim in order if space[dim].size > 1)

    def cost(self, tile: Box) -> OpCost:
        macs = math.prod(tile.sizes)
        if self.is_depthwise:
            return self.cost_on("VPU", tile, macs=macs, vpu_ops=macs)
        kept = 2 + self.spatial
        rows = tile.sizes[0] * math.prod(tile.sizes[2:kept])
        groups = len(self.groups_of_tile(tile)) if tile.volume else 1
        columns = -(-tile.sizes[1] // groups)
        cost = self.product_cost(tile, macs, (groups, rows, math.prod(tile.sizes[kept:]), columns))
        return replace(cost, window=((tile.sizes[0], *tile.sizes[2:kept]), tile.sizes[kept:]))


def padded_windows(op: ConvOp | PartialConvOp, tile: Box) -> OperandSlice:
    """What a tile of a convolution reads of its operand's spatial dimensions."""
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
    """A slice along one axis."""
    from .movement import SliceOp

    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = start, size
    return SliceOp(value, starts, sizes)
