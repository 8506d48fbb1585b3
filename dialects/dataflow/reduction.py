"""Reductions over whole dimensions and over windows, arg-reductions and cumulative sums."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from .base import TiledOp, Value, int_attr, int_list, ints, padded_range, verify_list
from .sliding import SlidingOp
from .tiling import Box, Combine, DimKind, IterDim, OpCost, OperandSlice
from .types import Tensor, element_of, integer_range, is_bool, is_float, normalise_axis, shape_of, tensor, window_output


class Reduction(StrEnum):
    """The function that combines elements."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """
    How a reduction combines elements: their sum, maximum, minimum or product.

    ```mlir
    #dataflow<reduction sum>
    ```
    """

    name = "dataflow.reduction"


COMBINE: dict[Reduction, Combine] = {
    Reduction.SUM: "add",
    Reduction.MAX: "max",
    Reduction.MIN: "min",
    Reduction.PROD: "mul",
}
"""The function that combines partial results of each kind."""


def kind_attr(kind: Reduction | str | ReductionAttr) -> ReductionAttr:
    """The attribute for a kind given in any form."""
    return kind if isinstance(kind, ReductionAttr) else ReductionAttr(Reduction(kind))


def identity(kind: Reduction, element_type: Attribute) -> float | int:
    """The identity of a kind of reduction: 0, 1, the smallest or the largest value of the element type."""
    floating = is_float(element_type)
    match kind:
        case Reduction.SUM:
            return 0.0 if floating else 0
        case Reduction.PROD:
            return 1.0 if floating else 1
        case Reduction.MAX | Reduction.MIN:
            if floating:
                return -math.inf if kind == Reduction.MAX else math.inf
            return integer_range(element_type)[0 if kind == Reduction.MAX else 1]


def _no_bool(operand: Value) -> None:
    if is_bool(element_of(operand)):
        raise VerifyException("operand has element type i1: expected float or integer")


@irdl_op_definition
class ReduceOp(TiledOp):
    """
    Combines all elements along some axes, which have size 1 in the result.

    Iteration space: the dimensions of the operand.

    ```mlir
    %1 = dataflow.reduce sum %0 axes [1, 2] : (tensor<4x5x6xf32>) -> tensor<4x1x1xf32>
    ```
    """

    name = "dataflow.reduce"
    kind = prop_def(ReductionAttr)
    operand = operand_def(Tensor)
    axes = prop_def(DenseArrayBase.constr(I64))
    result = result_def(Tensor)
    assembly_format = "$kind $operand `axes` $axes attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, kind: Reduction | str | ReductionAttr, axes: Sequence[int]):
        rank = len(shape_of(operand))
        axes = sorted({normalise_axis(axis, rank) for axis in axes})
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, axes)],
            properties={"kind": kind_attr(kind), "axes": int_list(axes)},
        )

    @staticmethod
    def infer(operand: Value, axes: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException for invalid axes."""
        shape = list(shape_of(operand))
        _no_bool(operand)
        if list(axes) != sorted(set(axes)) or any(not 0 <= axis < len(shape) for axis in axes):
            raise VerifyException(f"axes = {list(axes)} should be increasing and in [0, {len(shape)})")
        for axis in axes:
            shape[axis] = 1
        return tensor(element_of(operand), shape)

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, ints(self.axes))

    def iteration_space(self) -> tuple[IterDim, ...]:
        axes = ints(self.axes)
        return tuple(
            IterDim(size, DimKind.REDUCTION if dim in axes else DimKind.PARALLEL)
            for dim, size in enumerate(self.operand_shape(0))
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return OperandSlice.of(tile)

    def result_box(self, tile: Box) -> Box:
        return _collapse(tile, ints(self.axes))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (ReduceOp(operands[0], self.kind, ints(self.axes)),)

    @property
    def combine(self) -> Combine | None:
        return COMBINE[self.kind.data]

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=tile.volume)


def _collapse(tile: Box, axes: Sequence[int]) -> Box:
    """The box of a tile in a result in which these axes have size 1."""
    offsets = tuple(0 if dim in axes else offset for dim, offset in enumerate(tile.offsets))
    sizes = tuple(1 if dim in axes else size for dim, size in enumerate(tile.sizes))
    return Box(offsets, sizes)


class AxisOp(TiledOp, abc.ABC):
    """Base of operations along one axis of their operand, which cannot be cut along it."""

    operand = operand_def(Tensor)
    axis = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)

    @property
    def axis_index(self) -> int:
        """The axis as a Python integer, counted from the front."""
        return self.axis.value.data

    def _axis_kind(self) -> DimKind:
        return DimKind.WHOLE

    def iteration_space(self) -> tuple[IterDim, ...]:
        return tuple(
            IterDim(size, self._axis_kind() if dim == self.axis_index else DimKind.PARALLEL)
            for dim, size in enumerate(self.operand_shape(0))
        )

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return OperandSlice.of(tile)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=tile.volume)

    def verify_axis(self) -> None:
        """Check that the axis is counted from the front and exists."""
        if not 0 <= self.axis_index < len(self.operand_shape(0)):
            raise VerifyException(f"axis = {self.axis_index} should be in [0, {len(self.operand_shape(0))})")


@irdl_op_definition
class ArgReduceOp(AxisOp):
    """
    The index (i64) of the first largest (`max`) or smallest (`min`) element along an axis, which has size 1 in the
    result. If there is a NaN, the index of the first one.

    ```mlir
    %1 = dataflow.arg_reduce max %0 axis 1 : (tensor<4x5xf32>) -> tensor<4x1xi64>
    ```
    """

    name = "dataflow.arg_reduce"
    kind = prop_def(ReductionAttr)
    assembly_format = "$kind $operand `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, kind: Reduction | str | ReductionAttr, axis: int):
        axis = normalise_axis(axis, len(shape_of(operand)))
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, axis)],
            properties={"kind": kind_attr(kind), "axis": int_attr(axis)},
        )

    @staticmethod
    def infer(operand: Value, axis: int) -> Tensor:
        """The result type; raises VerifyException for an axis without elements."""
        shape = list(shape_of(operand))
        _no_bool(operand)
        if shape[axis] == 0:
            raise VerifyException(f"axis = {axis} has no elements: expected at least one")
        shape[axis] = 1
        return tensor(i64, shape)

    def expected_type(self) -> Tensor:
        if self.kind.data not in (Reduction.MAX, Reduction.MIN):
            raise VerifyException(f"kind = {self.kind.data} should be max or min")
        self.verify_axis()
        return self.infer(self.operand, self.axis_index)

    def result_box(self, tile: Box) -> Box:
        return _collapse(tile, (self.axis_index,))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (ArgReduceOp(operands[0], self.kind, self.axis_index),)


@irdl_op_definition
class CumsumOp(AxisOp):
    """
    Running sums along an axis: each element of the result is the sum of the operand's elements up to the same position.
    `exclusive` leaves out the element at that position, `reverse` sums from the end.

    ```mlir
    %1 = dataflow.cumsum %0 axis 0 exclusive reverse : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.cumsum"
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)
    assembly_format = (
        "$operand `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(self, operand: Value, axis: int, *, exclusive: bool = False, reverse: bool = False):
        axis = normalise_axis(axis, len(shape_of(operand)))
        super().__init__(
            operands=[operand],
            result_types=[tensor(element_of(operand), shape_of(operand))],
            properties={
                "axis": int_attr(axis),
                "exclusive": UnitAttr() if exclusive else None,
                "reverse": UnitAttr() if reverse else None,
            },
        )

    def expected_type(self) -> Tensor:
        self.verify_axis()
        _no_bool(self.operand)
        return tensor(element_of(self.operand), shape_of(self.operand))

    def _axis_kind(self) -> DimKind:
        return DimKind.SEQUENTIAL

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (
            CumsumOp(
                operands[0],
                self.axis_index,
                exclusive=self.exclusive is not None,
                reverse=self.reverse is not None,
            ),
        )


@irdl_op_definition
class ReduceWindowOp(SlidingOp, TiledOp):
    """
    Combines the elements of each window. Window, strides, dilations and padding have one entry for each dimension of
    the operand (1, 1, 1, 0 and 0 for dimensions without windows). Positions outside of the operand hold the identity of
    the kind of reduction.

    Iteration space: (dimensions of the result..., window dimensions of size > 1...).

    ```mlir
    %1 = dataflow.reduce_window max %0 window [1, 1, 2, 2] strides [1, 1, 2, 2] dilations [1, 1, 1, 1]
      pad [0, 0, 0, 0] to [0, 0, 1, 1] : (tensor<1x3x7x7xf32>) -> tensor<1x3x4x4xf32>
    ```
    """

    name = "dataflow.reduce_window"
    kind = prop_def(ReductionAttr)
    operand = operand_def(Tensor)
    window = prop_def(DenseArrayBase.constr(I64))
    result = result_def(Tensor)
    assembly_format = (
        "$kind $operand `window` $window `strides` $strides `dilations` $dilations `pad` $pad_low `to` $pad_high "
        "attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: Value,
        kind: Reduction | str | ReductionAttr,
        window: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pad_low: Sequence[int] | None = None,
        pad_high: Sequence[int] | None = None,
    ):
        rank = len(shape_of(operand))
        strides = strides if strides is not None else (1,) * rank
        dilations = dilations if dilations is not None else (1,) * rank
        pad_low = pad_low if pad_low is not None else (0,) * rank
        pad_high = pad_high if pad_high is not None else (0,) * rank
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, window, strides, dilations, pad_low, pad_high)],
            properties={
                "kind": kind_attr(kind),
                "window": int_list(window),
                "strides": int_list(strides),
                "dilations": int_list(dilations),
                "pad_low": int_list(pad_low),
                "pad_high": int_list(pad_high),
            },
        )

    @staticmethod
    def infer(
        operand: Value,
        window: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        pad_low: Sequence[int],
        pad_high: Sequence[int],
    ) -> Tensor:
        """The result type; raises VerifyException for invalid attributes."""
        shape = shape_of(operand)
        _no_bool(operand)
        for name, values, least in (
            ("window", window, 1),
            ("strides", strides, 1),
            ("dilations", dilations, 1),
            ("pad_low", pad_low, 0),
            ("pad_high", pad_high, 0),
        ):
            verify_list(name, values, len(shape), "dimension", least)
        out = tuple(map(window_output, shape, window, strides, dilations, pad_low, pad_high))
        if any(size < 1 for size in out):
            raise VerifyException(
                f"window {list(window)} with dilations {list(dilations)} is larger than the padded operand of shape "
                f"{list(shape)}"
            )
        return tensor(element_of(operand), out)

    def expected_type(self) -> Tensor:
        if self.kind.data == Reduction.PROD:
            raise VerifyException("kind = prod should be sum, max or min")
        return self.infer(self.operand, ints(self.window), **self.sliding)

    @property
    def window_dims(self) -> tuple[int, ...]:
        """Dimensions that have a window of more than one element, in the order of the iteration space."""
        return tuple(dim for dim, size in enumerate(ints(self.window)) if size > 1)

    def iteration_space(self) -> tuple[IterDim, ...]:
        window = ints(self.window)
        result = tuple(
            IterDim(size, DimKind.WINDOW if window[dim] > 1 else DimKind.PARALLEL)
            for dim, size in enumerate(self.result_shape)
        )
        return result + tuple(IterDim(window[dim], DimKind.REDUCTION) for dim in self.window_dims)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        shape = self.operand_shape(0)
        strides, dilations, pads = ints(self.strides), ints(self.dilations), ints(self.pad_low)
        position = {dim: len(shape) + number for number, dim in enumerate(self.window_dims)}
        offsets: list[int] = []
        sizes: list[int] = []
        low: list[int] = []
        high: list[int] = []
        for dim, size in enumerate(shape):
            first, count = (tile.offsets[position[dim]], tile.sizes[position[dim]]) if dim in position else (0, 1)
            start = tile.offsets[dim] * strides[dim] + first * dilations[dim] - pads[dim]
            length = (tile.sizes[dim] - 1) * strides[dim] + (count - 1) * dilations[dim] + 1
            offset, inside, before, after = padded_range(start, length, size)
            offsets.append(offset)
            sizes.append(inside)
            low.append(before)
            high.append(after)
        value = identity(self.kind.data, element_of(self.operand))
        return OperandSlice(Box(tuple(offsets), tuple(sizes)), tuple(low), tuple(high), value)

    def result_box(self, tile: Box) -> Box:
        rank = len(self.result_shape)
        return Box(tile.offsets[:rank], tile.sizes[:rank])

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        window = [1] * len(self.result_shape)
        for number, dim in enumerate(self.window_dims, len(window)):
            window[dim] = tile.sizes[number]
        return (
            ReduceWindowOp(operands[0], self.kind, window, strides=ints(self.strides), dilations=ints(self.dilations)),
        )

    @property
    def combine(self) -> Combine | None:
        return COMBINE[self.kind.data]

    def preferred_dims(self) -> tuple[int, ...]:
        # Images and channels first: their tiles have no halo.
        space = self.iteration_space()
        parallel = (dim for dim, one in enumerate(space) if one.kind == DimKind.PARALLEL and one.size > 1)
        window = (dim for dim, one in enumerate(space) if one.kind == DimKind.WINDOW and one.size > 1)
        return (*parallel, *window)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=tile.volume)
