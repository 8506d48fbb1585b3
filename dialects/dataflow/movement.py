"""Data movement: operations that copy elements and compute nothing. (`dataflow.reshape` is in `reshape.py`.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    I64,
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from .base import TiledOp, Value, broadcast_slice, int_attr, int_list, ints, verify_list
from .tiling import Box, DimKind, IterDim, OpCost, OperandSlice
from .types import (
    Tensor,
    broadcast_shapes,
    element_of,
    is_bool,
    is_float,
    largest_exact,
    normalise_axis,
    shape_of,
    tensor,
)


class MovementOp(TiledOp):
    """Base of operations that run over the dimensions of their result, all parallel."""

    def iteration_space(self) -> tuple[IterDim, ...]:
        return tuple(IterDim(size, DimKind.PARALLEL) for size in self.result_shape)


@irdl_op_definition
class TransposeOp(MovementOp):
    """
    Permutes dimensions: dimension d of the result is dimension `permutation[d]` of the operand.

    ```mlir
    %1 = dataflow.transpose %0 [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
    ```
    """

    name = "dataflow.transpose"
    operand = operand_def(Tensor)
    permutation = prop_def(DenseArrayBase.constr(I64))
    result = result_def(Tensor)
    assembly_format = "$operand $permutation attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, permutation: Sequence[int]):
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, permutation)],
            properties={"permutation": int_list(permutation)},
        )

    @staticmethod
    def infer(operand: Value, permutation: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException if `permutation` is no permutation of the operand's dimensions."""
        shape = shape_of(operand)
        if sorted(permutation) != list(range(len(shape))):
            raise VerifyException(f"permutation = {list(permutation)} should hold each of 0 to {len(shape) - 1} once")
        return tensor(element_of(operand), [shape[dim] for dim in permutation])

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, ints(self.permutation))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        offsets, sizes = [0] * tile.rank, [0] * tile.rank
        for dim, source in enumerate(ints(self.permutation)):
            offsets[source], sizes[source] = tile.offsets[dim], tile.sizes[dim]
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (TransposeOp(operands[0], ints(self.permutation)),)

    def preferred_dims(self) -> tuple[int, ...]:
        # If a dimension that keeps its place is cut, the rows of tiles stay contiguous in operand and result.
        permutation = ints(self.permutation)
        dims = [dim for dim, size in enumerate(self.result_shape) if size > 1]
        return tuple(sorted(dims, key=lambda dim: permutation[dim] != dim))


@irdl_op_definition
class SliceOp(MovementOp):
    """
    A part of a tensor: in dimension d the elements `starts[d] + i * steps[d]` for i from 0 to `sizes[d] - 1`. Steps may
    be negative, but not 0.

    ```mlir
    %1 = dataflow.slice %0 starts [3] sizes [4] steps [-1] : (tensor<9xf32>) -> tensor<4xf32>
    ```
    """

    name = "dataflow.slice"
    TAKES_PAIRS: ClassVar[bool] = True
    operand = operand_def(Tensor)
    starts = prop_def(DenseArrayBase.constr(I64))
    sizes = prop_def(DenseArrayBase.constr(I64))
    steps = prop_def(DenseArrayBase.constr(I64))
    result = result_def(Tensor)
    assembly_format = (
        "$operand `starts` $starts `sizes` $sizes `steps` $steps attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, operand: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None):
        steps = steps if steps is not None else (1,) * len(sizes)
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, starts, sizes, steps)],
            properties={"starts": int_list(starts), "sizes": int_list(sizes), "steps": int_list(steps)},
        )

    @staticmethod
    def infer(operand: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException for a slice that is not inside the operand."""
        shape = shape_of(operand)
        verify_list("starts", starts, len(shape), "dimension", 0)
        verify_list("sizes", sizes, len(shape), "dimension", 0)
        verify_list("steps", steps, len(shape), "dimension")
        if 0 in steps:
            raise VerifyException(f"steps = {list(steps)} should not hold 0")
        for dim, (start, size, step, whole) in enumerate(zip(starts, sizes, steps, shape, strict=True)):
            last = start + (size - 1) * step
            if size and not (start < whole and 0 <= last < whole):
                raise VerifyException(
                    f"slice reads elements {start} to {last} of dimension {dim}: expected to stay in [0, {whole})"
                )
        return tensor(element_of(operand), sizes)

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, ints(self.starts), ints(self.sizes), ints(self.steps))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        starts, steps = ints(self.starts), ints(self.steps)
        offsets = tuple(s + offset * step for s, offset, step in zip(starts, tile.offsets, steps, strict=True))
        zeros = (0,) * tile.rank
        return OperandSlice(Box(offsets, tile.sizes), zeros, zeros, steps=steps)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        # The materialised operand has only the elements at these steps.
        return (SliceOp(operands[0], (0,) * tile.rank, tile.sizes),)


@irdl_op_definition
class ConcatOp(MovementOp):
    """
    Concatenates tensors along an axis. They have equal sizes in all other dimensions.

    ```mlir
    %2 = dataflow.concat %0, %1 axis 0 : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    ```
    """

    name = "dataflow.concat"
    inputs = var_operand_def(Tensor)
    axis = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, inputs: Sequence[Value], axis: int):
        if inputs:
            axis = normalise_axis(axis, len(shape_of(inputs[0])))
        super().__init__(
            operands=[list(inputs)],
            result_types=[self.infer(inputs, axis)],
            properties={"axis": int_attr(axis)},
        )

    @staticmethod
    def infer(inputs: Sequence[Value], axis: int) -> Tensor:
        """The result type; raises VerifyException if the operands differ in more than their size along the axis."""
        if not inputs:
            raise VerifyException("no operands: expected at least one")
        first = list(shape_of(inputs[0]))
        if not 0 <= axis < len(first):
            raise VerifyException(f"axis = {axis} should be in [0, {len(first)})")
        total = 0
        for position, value in enumerate(inputs):
            shape = list(shape_of(value))
            if element_of(value) != element_of(inputs[0]):
                raise VerifyException(
                    f"operand {position} has element type {element_of(value)}: expected {element_of(inputs[0])}"
                )
            if shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
                raise VerifyException(f"operand {position} has shape {shape}: expected {first} but for axis {axis}")
            total += shape[axis]
        return tensor(element_of(inputs[0]), (*first[:axis], total, *first[axis + 1 :]))

    def expected_type(self) -> Tensor:
        return self.infer(self.inputs, self.axis_index)

    @property
    def axis_index(self) -> int:
        """The axis as a Python integer."""
        return self.axis.value.data

    def start_of(self, index: int) -> int:
        """The offset of operand `index` along the axis of the result."""
        # Without checks of the types, which the verifier does: planning calls this often, for hundreds of operands.
        axis, before = self.axis_index, cast("Sequence[SSAValue[Tensor]]", self.inputs[:index])
        return sum([value.type.shape.data[axis].data for value in before])

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        return tuple(map(min, self.operand_shape(index), tile.sizes))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        axis, start = self.axis_index, self.start_of(index)
        size = self.operand_shape(index)[axis]
        low = min(max(tile.offsets[axis] - start, 0), size)
        high = min(max(tile.offsets[axis] + tile.sizes[axis] - start, 0), size)
        offsets, sizes = list(tile.offsets), list(tile.sizes)
        offsets[axis], sizes[axis] = low, high - low
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        present = [value for value in operands if shape_of(value)[self.axis_index]]
        return (ConcatOp(present or operands[:1], self.axis_index),)

    def preferred_dims(self) -> tuple[int, ...]:
        # Tiles along the axis read few operands, but unequal numbers of them; therefore it is last.
        dims = [dim for dim, size in enumerate(self.result_shape) if size > 1]
        return tuple(sorted(dims, key=lambda dim: dim == self.axis_index))


def scalar_attr(value: float | Attribute, element_type: Attribute) -> FloatAttr | IntegerAttr:
    """The attribute of a number with an element type. Raises VerifyException for an attribute that is no number."""
    if isinstance(value, FloatAttr | IntegerAttr):
        return cast("FloatAttr | IntegerAttr", value)
    if isinstance(value, Attribute):
        raise VerifyException(f"value = {value} should be a number")
    if is_float(element_type):
        return FloatAttr(float(value), cast(AnyFloat, element_type))
    return IntegerAttr(int(value), cast(IntegerType, element_type))


@irdl_op_definition
class PadOp(MovementOp):
    """
    Inserts copies of `value`: in dimension d, `low[d]` before the elements, `high[d]` after them, and `interior[d]`
    between two neighbours. None is negative.

    ```mlir
    %1 = dataflow.pad %0 low [1] high [2] interior [0] value 0.0 : f32 : (tensor<4xf32>) -> tensor<7xf32>
    ```
    """

    name = "dataflow.pad"
    operand = operand_def(Tensor)
    low = prop_def(DenseArrayBase.constr(I64))
    high = prop_def(DenseArrayBase.constr(I64))
    interior = prop_def(DenseArrayBase.constr(I64))
    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(Tensor)
    assembly_format = (
        "$operand `low` $low `high` $high `interior` $interior `value` $value attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
        value: float | Attribute = 0,
    ):
        interior = interior if interior is not None else (0,) * len(low)
        super().__init__(
            operands=[operand],
            result_types=[self.infer(operand, low, high, interior)],
            properties={
                "low": int_list(low),
                "high": int_list(high),
                "interior": int_list(interior),
                "value": scalar_attr(value, element_of(operand)),
            },
        )

    @staticmethod
    def infer(operand: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException for lists of wrong length and negative entries."""
        shape = shape_of(operand)
        for name, values in (("low", low), ("high", high), ("interior", interior)):
            verify_list(name, values, len(shape), "dimension", 0)
        sizes = [
            before + size + max(0, size - 1) * between + after
            for before, size, between, after in zip(low, shape, interior, high, strict=True)
        ]
        return tensor(element_of(operand), sizes)

    def expected_type(self) -> Tensor:
        expected = self.infer(self.operand, ints(self.low), ints(self.high), ints(self.interior))
        type = self.value.get_type()
        if type != expected.element_type:
            raise VerifyException(f"value has type {type}: expected the element type {expected.element_type}")
        return expected

    @property
    def number(self) -> float | int:
        """The value as a Python number."""
        return self.value.value.data

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        return tuple(map(min, self.operand_shape(index), tile.sizes))

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        """The elements that are in the tile, without padding; an empty box if there is only padding."""
        offsets: list[int] = []
        sizes: list[int] = []
        lists = (self.operand_shape(0), ints(self.low), ints(self.interior), tile.offsets, tile.sizes)
        for whole, low, interior, offset, size in zip(*lists, strict=True):
            pitch = interior + 1
            first = min(max(0, -((low - offset) // pitch)), whole)
            end = min(max(first, (offset + size - 1 - low) // pitch + 1), whole)
            offsets.append(first)
            sizes.append(end - first)
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)))

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        box = self.operand_slice(0, tile).box
        low: list[int] = []
        high: list[int] = []
        lists = (ints(self.low), ints(self.interior), tile.offsets, tile.sizes, box.offsets, box.sizes)
        for before, interior, offset, size, first, count in zip(*lists, strict=True):
            if count == 0:
                low.append(size)
                high.append(0)
                continue
            low.append(before + first * (interior + 1) - offset)
            high.append(size - low[-1] - count - (count - 1) * interior)
        return (PadOp(operands[0], low, high, ints(self.interior), self.value),)


@irdl_op_definition
class BroadcastOp(MovementOp):
    """
    Repeats a tensor along new dimensions and along those of size 1, by numpy's rules.

    ```mlir
    %1 = dataflow.broadcast %0 : (tensor<4x1xf32>) -> tensor<3x4x5xf32>
    ```
    """

    name = "dataflow.broadcast"
    operand = operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[self.infer(operand, shape)])

    @staticmethod
    def infer(operand: Value, shape: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException if the operand does not broadcast to the shape."""
        if broadcast_shapes(shape_of(operand), shape) != tuple(shape):
            raise VerifyException(
                f"operand of shape {list(shape_of(operand))} does not broadcast to {list(shape)} by numpy's rules"
            )
        return tensor(element_of(operand), shape)

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, self.result_shape)

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        return broadcast_slice(self.operand_shape(0), tile)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (BroadcastOp(operands[0], tile.sizes),)


@irdl_op_definition
class GatherOp(MovementOp):
    """
    Rows of `data` along an axis, selected by `indices` (i32 or i64; negative ones count from the end): result[a...,
    i..., b...] = data[a..., indices[i...], b...].

    ```mlir
    %2 = dataflow.gather %0, %1 axis 1 : (tensor<4x5x6xf32>, tensor<2x3xi64>) -> tensor<4x2x3x6xf32>
    ```
    """

    name = "dataflow.gather"
    data = operand_def(Tensor)
    indices = operand_def(Tensor)
    axis = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = "$data `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, indices: Value, axis: int = 0):
        axis = normalise_axis(axis, len(shape_of(data)))
        super().__init__(
            operands=[data, indices],
            result_types=[self.infer(data, indices, axis)],
            properties={"axis": int_attr(axis)},
        )

    @staticmethod
    def infer(data: Value, indices: Value, axis: int) -> Tensor:
        """The result type; raises VerifyException for an axis out of range and indices of another type."""
        shape = shape_of(data)
        if not 0 <= axis < len(shape):
            raise VerifyException(f"axis = {axis} should be in [0, {len(shape)})")
        if element_of(indices) not in (i32, i64):
            raise VerifyException(f"indices have element type {element_of(indices)}: expected i32 or i64")
        return tensor(element_of(data), (*shape[:axis], *shape_of(indices), *shape[axis + 1 :]))

    def expected_type(self) -> Tensor:
        return self.infer(self.data, self.indices, self.axis_index)

    @property
    def axis_index(self) -> int:
        """The axis as a Python integer."""
        return self.axis.value.data

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        axis, rank = self.axis_index, len(self.operand_shape(1))
        inner = slice(axis, axis + rank)
        if index == 1:
            return OperandSlice.of(Box(tile.offsets[inner], tile.sizes[inner]))
        offsets = (*tile.offsets[:axis], 0, *tile.offsets[axis + rank :])
        sizes = (*tile.sizes[:axis], self.operand_shape(0)[axis], *tile.sizes[axis + rank :])
        return OperandSlice.of(Box(offsets, sizes), indexed=True)

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        return (GatherOp(operands[0], operands[1], self.axis_index),)

    def cost(self, tile: Box) -> OpCost:
        # Only the selected rows are moved: read once and written once.
        from .types import element_bytes

        index_bytes = self.operand_slice(1, tile).box.volume * element_bytes(element_of(self.indices))
        moved = 2 * tile.volume * element_bytes(element_of(self.data)) + index_bytes
        return OpCost("DAU", 0, 0, lambda: moved)


@irdl_op_definition
class IotaOp(MovementOp):
    """
    Each element is its own position along an axis: 0, 1, 2, ...

    ```mlir
    %0 = dataflow.iota axis 1 : tensor<2x5xi64>
    ```
    """

    name = "dataflow.iota"
    axis = prop_def(IntegerAttr[I64])
    result = result_def(Tensor)
    assembly_format = "`axis` $axis attr-dict `:` type($result)"

    def __init__(self, type: Tensor, axis: int = 0):
        axis = normalise_axis(axis, len(type.get_shape()))
        super().__init__(operands=[], result_types=[type], properties={"axis": int_attr(axis)})

    @property
    def axis_index(self) -> int:
        """The axis as a Python integer."""
        return self.axis.value.data

    def expected_type(self) -> Tensor:
        shape, element = self.result_shape, element_of(self.result)
        if not 0 <= self.axis_index < len(shape):
            raise VerifyException(f"axis = {self.axis_index} should be in [0, {len(shape)})")
        last = max(0, shape[self.axis_index] - 1)
        if is_bool(element) or last > largest_exact(element):
            raise VerifyException(f"result has element type {element}, which does not hold every integer up to {last}")
        return self.result_type

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        raise IndexError(f"dataflow.iota has no operands, there is none of number {index}")

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        from .elementwise import AddOp
        from .sources import ConstantOp

        element = element_of(self.result)
        iota = IotaOp(tensor(element, tile.sizes), self.axis_index)
        start = ConstantOp.splat(tile.offsets[self.axis_index], tensor(element, (1,) * tile.rank))
        return (iota, start, AddOp(iota, start))

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("VPU", tile, vpu_ops=tile.volume)
