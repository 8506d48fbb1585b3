"""
`dataflow.reshape`: the same elements, in row-major order, in another shape.

It moves no data in a dense buffer, but a tile of its result is in general not a box of the operand. Dimensions are
therefore partitioned into the smallest *groups* of neighbours that have the same number of elements in operand and
result. In each group, only the outermost dimension of the result may be cut: a tile is then one contiguous range of the
group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from .base import TiledOp, Value
from .tiling import Box, DimKind, IterDim, OperandSlice
from .types import Shape, Tensor, element_of, shape_of, tensor


@dataclass(frozen=True)
class Group:
    """Dimensions of operand and result, without those of size 1, that cover the same elements."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def dimension_groups(source: Shape, target: Shape) -> list[Group]:
    """The smallest groups of corresponding neighbouring dimensions. Dimensions of size 1 are in no group."""
    if 0 in source:
        return [Group(tuple(range(len(source))), tuple(range(len(target))))]
    groups: list[Group] = []
    left = [dim for dim, size in enumerate(source) if size != 1]
    right = [dim for dim, size in enumerate(target) if size != 1]
    while left:
        s, t = [left.pop(0)], [right.pop(0)]
        a, b = source[s[0]], target[t[0]]
        while a != b:
            if a < b:
                s.append(left.pop(0))
                a *= source[s[-1]]
            else:
                t.append(right.pop(0))
                b *= target[t[-1]]
        groups.append(Group(tuple(s), tuple(t)))
    return groups


def enclosing_range(start: int, length: int, sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Offsets and sizes of the smallest contiguous box that contains the flat range [start, start + length)."""
    first, last = start, start + length - 1
    offsets: list[int] = []
    counts: list[int] = []
    for position in range(len(sizes)):
        pitch = math.prod(sizes[position + 1 :])
        low, high = first // pitch, last // pitch
        offsets.append(low)
        counts.append(high - low + 1)
        if low != high:
            offsets += [0] * (len(sizes) - position - 1)
            counts += sizes[position + 1 :]
            break
        first, last = first - low * pitch, last - low * pitch
    return offsets, counts


@irdl_op_definition
class ReshapeOp(TiledOp):
    """
    The same elements, in row-major order, in another shape.

    ```mlir
    %1 = dataflow.reshape %0 : (tensor<4x6xf32>) -> tensor<2x12xf32>
    ```
    """

    name = "dataflow.reshape"
    operand = operand_def(Tensor)
    result = result_def(Tensor)
    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: Value, shape: Sequence[int]):
        super().__init__(operands=[operand], result_types=[self.infer(operand, shape)])

    @staticmethod
    def infer(operand: Value, shape: Sequence[int]) -> Tensor:
        """The result type; raises VerifyException if the number of elements differs."""
        if math.prod(shape_of(operand)) != math.prod(shape):
            raise VerifyException(
                f"operand of shape {list(shape_of(operand))} has {math.prod(shape_of(operand))} elements: "
                f"expected {math.prod(shape)} for shape {list(shape)}"
            )
        return tensor(element_of(operand), shape)

    def expected_type(self) -> Tensor:
        return self.infer(self.operand, self.result_shape)

    @property
    def groups(self) -> list[Group]:
        """The groups of corresponding dimensions."""
        return dimension_groups(self.operand_shape(0), self.result_shape)

    def iteration_space(self) -> tuple[IterDim, ...]:
        empty = 0 in self.result_shape
        outer = {group.target[0] for group in self.groups if group.target and not empty}
        return tuple(
            IterDim(size, DimKind.PARALLEL if dim in outer or size == 1 else DimKind.WHOLE)
            for dim, size in enumerate(self.result_shape)
        )

    def flat_ranges(self, tile: Box) -> list[tuple[int, int]]:
        """For each group, the contiguous range (start, length) of its elements that are in the tile."""
        ranges: list[tuple[int, int]] = []
        for group in self.groups:
            outer = group.target[0]
            pitch = math.prod(self.result_shape[dim] for dim in group.target[1:])
            ranges.append((tile.offsets[outer] * pitch, tile.sizes[outer] * pitch))
        return ranges

    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        shape = self.operand_shape(0)
        if 0 in shape:
            return OperandSlice.of(Box.whole(shape))
        offsets, sizes = [0] * len(shape), [1] * len(shape)
        exact = True
        for group, (start, length) in zip(self.groups, self.flat_ranges(tile), strict=True):
            low, count = enclosing_range(start, length, [shape[dim] for dim in group.source])
            exact = exact and math.prod(count) == length
            for dim, offset, size in zip(group.source, low, count, strict=True):
                offsets[dim], sizes[dim] = offset, size
        return OperandSlice.of(Box(tuple(offsets), tuple(sizes)), exact=exact)

    def flat_offsets(self, tile: Box) -> list[tuple[int, int, int]]:
        """
        For each group: (elements of the operand slice, offset of the tile's first element in it, elements of the tile).
        An inexact slice contains more than the tile: reshape it to the first numbers, slice, reshape to the tile's
        sizes.
        """
        shape, box = self.operand_shape(0), self.operand_slice(0, tile).box
        result: list[tuple[int, int, int]] = []
        for group, (start, length) in zip(self.groups, self.flat_ranges(tile), strict=True):
            first = 0
            for dim in group.source:
                first = first * shape[dim] + box.offsets[dim]
            result.append((math.prod(box.sizes[dim] for dim in group.source), start - first, length))
        return result

    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        if 0 in self.result_shape or self.operand_slice(0, tile).exact:
            return (ReshapeOp(operands[0], tile.sizes),)
        from .movement import SliceOp

        ranges = self.flat_offsets(tile)
        flat = ReshapeOp(operands[0], [held for held, _, _ in ranges])
        part = SliceOp(flat, [first for _, first, _ in ranges], [length for _, _, length in ranges])
        return (flat, part, ReshapeOp(part, tile.sizes))
