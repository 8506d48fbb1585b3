"""
Operators that compute the elements of a batch independently, found by the tiling interface alone. Backwards from the
results, each operator is queried for the part of its operands that a part of its result needs. If this is always the
same part of an operand, or all of it, the parts are independent.
"""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from ...dialects.dataflow.tiling import Box, DimKind, OperandSlice, TilingInterface, split_evenly
from ...dialects.dataflow.types import shape_of

BATCH = 0
"""The batch dimension of a function's results."""

Axis = int | None
"""The dimension along which a value is cut; None if it is needed as a whole."""


def batch_cuts(block: Block, parts: int) -> dict[TilingInterface, int]:
    """
    The operators of a block that compute parts of their result independently when the block's results are cut evenly
    into `parts` along their first dimension; with the dimension of their iteration space that is cut. In the block's
    order. An operator whose result is needed as a whole, or cut in different ways, is not among them.
    """
    needs: dict[SSAValue, set[Axis]] = {}
    cuts: dict[TilingInterface, int] = {}
    for op in reversed(list(block.ops)):
        axes: list[Axis] = [None] * len(op.operands)
        if op is block.last_op:
            axes = [BATCH if shape_of(value)[:1] >= (parts,) else None for value in op.operands]
        elif isinstance(op, TilingInterface):
            wanted = needs.get(op.results[0], set())
            axis = next(iter(wanted)) if len(wanted) == 1 else None
            if axis is not None and (found := _cut(op, axis, parts)) is not None:
                cuts[op], axes = found
        for value, axis in zip(op.operands, axes, strict=True):
            needs.setdefault(value, set()).add(axis)
    return dict(reversed(cuts.items()))


def _cut(op: TilingInterface, axis: int, parts: int) -> tuple[int, list[Axis]] | None:
    """
    The dimension of the iteration space that cuts the result along an axis, and the resulting cuts of the operands.
    """
    space = op.iteration_space()
    whole = Box.whole(tuple(dim.size for dim in space))
    wanted = _boxes(shape_of(op.results[0]), axis, parts)
    for number, dim in enumerate(space):
        if dim.kind is not DimKind.PARALLEL or dim.size < parts:
            continue
        tiles = _boxes(whole.sizes, number, parts)
        if [op.result_box(tile) for tile in tiles] == wanted:
            slices = ([op.operand_slice(index, tile) for tile in tiles] for index in range(len(op.operands)))
            return number, [_axis(value, read) for value, read in zip(op.operands, slices, strict=True)]
    return None


def _axis(value: SSAValue, slices: list[OperandSlice]) -> Axis:
    """The dimension along which each part reads only its part of an operand."""
    shape = shape_of(value)
    boxes = [one.bounds for one in slices]
    for axis, size in enumerate(shape):
        if size >= len(slices) and boxes == _boxes(shape, axis, len(slices)):
            return axis
    return None


def _boxes(sizes: tuple[int, ...], axis: int, parts: int) -> list[Box]:
    """A space in parts along one dimension."""
    whole = Box.whole(sizes)
    return [whole.along(axis, low, size) for low, size in split_evenly(sizes[axis], parts)]
