"""Data movement: strided copies, fills, gathers, and counting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ...dialects.dataflow.base import ints
from ...dialects.dataflow.movement import (
    BroadcastOp,
    ConcatOp,
    GatherOp,
    IotaOp,
    PadOp,
    SliceOp,
    TransposeOp,
)
from ...dialects.dataflow.reshape import ReshapeOp
from ...dialects.dataflow.tiling import Box
from ..emitter import Emitter, Operand
from ..view import View, dense_strides
from .common import in_memory
from .flat import copy_flat


def select_transpose(
    op: TransposeOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """A copy with permuted strides."""
    emitter.copy(out, in_memory(operands[0]).permute(ints(op.permutation)))


def select_copy(
    op: SliceOp | BroadcastOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """Slices (the operand is the slice already) and broadcasts."""
    emitter.copy(out, in_memory(operands[0]))


def select_reshape(
    op: ReshapeOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """A copy in row-major order; nothing where `out` is the operand's memory. Where the tile's elements are no box of
    the operand, runs of them are copied out of the box around them."""
    a = in_memory(operands[0])
    if a.volume == out.volume:
        copy_flat(out, a, emitter)
        return
    whole = op.operand_shape(0)
    box = op.operand_slice(0, tile).box
    place = [stride // 1 for stride in dense_strides(whole, 1)]
    scale = dense_strides(op.result_shape, 1)
    width = whole[-1] if whole else 1
    *outer, run = tile.sizes or (1,)
    for index in itertools.product(*(range(size) for size in outer)):
        position = 0
        start = sum((tile.offsets[dim] + i) * scale[dim] for dim, i in enumerate((*index, 0)))
        while position < run:
            number = start + position
            length = min(run - position, width - number % width)
            address = a.address
            for dim, stride in enumerate(place):
                address += (number // stride % whole[dim] - box.offsets[dim]) * a.strides[dim]
            target = out.address + sum(i * s for i, s in zip((*index, position), out.strides, strict=True))
            emitter.copy(
                View(out.space, target, out.dtype, (length,), out.strides[-1:]),
                View(a.space, address, a.dtype, (length,), a.strides[-1:]),
            )
            position += length


def select_concat(
    op: ConcatOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """One copy per operand that the tile meets."""
    axis = op.axis_index
    offset = 0
    for operand in operands:
        part = in_memory(operand)
        size = part.shape[axis]
        if size and part.volume:
            emitter.copy(out.part(axis, offset, size), part)
            offset += size


def select_pad(
    op: PadOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """The value everywhere, unless the operand covers the tile, then the operand's elements at their distance."""
    a = in_memory(operands[0])
    offsets: list[int] = []
    sizes: list[int] = []
    steps = [1 + gap for gap in ints(op.interior)]
    for dim, size in enumerate(op.operand_shape(0)):
        start = tile.offsets[dim] - ints(op.low)[dim]
        first = max(0, -(-start // steps[dim]))
        end = min(size, (start + tile.sizes[dim] - 1) // steps[dim] + 1)
        offsets.append(first * steps[dim] - start)
        sizes.append(max(0, end - first))
    inside = math.prod(sizes)
    if inside != out.volume:
        emitter.fill(out, op.number)
    if inside:
        emitter.copy(out.box(offsets, sizes, steps), a)


def select_gather(
    op: GatherOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """Rows by index along the axis, moved first by strides; the data may lie in DRAM."""
    data, indices = (in_memory(operand) for operand in operands)
    axis, rank = op.axis_index, len(indices.shape)
    behind = range(axis + rank, len(out.shape))
    target = out.permute((*range(axis, axis + rank), *range(axis), *behind))
    rows = data.permute((axis, *range(axis), *range(axis + 1, len(data.shape))))
    emitter.gather(target, rows, indices)


def select_iota(
    op: IotaOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """The numbers once along the axis, then copies along the other dimensions."""
    axis = op.axis_index
    done = [1 if dim != axis else size for dim, size in enumerate(out.shape)]
    if 0 in out.shape:
        return
    emitter.iota(out.box((0,) * len(done), done), tile.offsets[axis], 1)
    for dim in reversed(range(len(done))):
        size = out.shape[dim]
        if dim == axis or size == 1:
            continue
        source = out.box((0,) * len(done), done)
        done[dim] = size
        emitter.copy(out.box((0,) * len(done), done).part(dim, 1, size - 1), source)
