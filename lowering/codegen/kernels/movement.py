"""Data movement: strided copies, fills, gathers, and counting."""

from __future__ import annotations

import itertools
import math

from ....dialects.dataflow.base import ints
from ....dialects.dataflow.movement import BroadcastOp, ConcatOp, GatherOp, IotaOp, PadOp, SliceOp, TransposeOp
from ....dialects.dataflow.reshape import ReshapeOp
from ..view import View, dense_strides
from .common import Tile
from .flat import copy_flat


def select_transpose(op: TransposeOp, tile: Tile) -> None:
    """A copy with permuted strides."""
    (a,) = tile.views
    tile.emitter.copy(tile.out, a.permute(ints(op.permutation)))


def select_copy(op: SliceOp | BroadcastOp, tile: Tile) -> None:
    """Slices (the operand is already sliced) and broadcasts."""
    (a,) = tile.views
    tile.emitter.copy(tile.out, a)


def select_reshape(op: ReshapeOp, tile: Tile) -> None:
    """
    A copy in row-major order; nothing if `out` is the operand's memory. If the tile's elements are not a box of the
    operand, contiguous runs of them are copied from their bounding box.
    """
    out, (a,) = tile.out, tile.views
    if a.volume == out.volume:
        copy_flat(out, a, tile.emitter)
        return
    whole = op.operand_shape(0)
    box = op.operand_slice(0, tile.box).box
    place = [stride // 1 for stride in dense_strides(whole, 1)]
    scale = dense_strides(op.result_shape, 1)
    width = whole[-1] if whole else 1
    *outer, run = tile.box.sizes or (1,)
    for index in itertools.product(*(range(size) for size in outer)):
        position = 0
        start = sum((tile.box.offsets[dim] + i) * scale[dim] for dim, i in enumerate((*index, 0)))
        while position < run:
            number = start + position
            length = min(run - position, width - number % width)
            address = a.address
            for dim, stride in enumerate(place):
                address += (number // stride % whole[dim] - box.offsets[dim]) * a.strides[dim]
            target = out.address + sum(i * s for i, s in zip((*index, position), out.strides, strict=True))
            tile.emitter.copy(
                View(out.space, target, out.dtype, (length,), out.strides[-1:]),
                View(a.space, address, a.dtype, (length,), a.strides[-1:]),
            )
            position += length


def select_concat(op: ConcatOp, tile: Tile) -> None:
    """One copy per operand that intersects the tile."""
    axis = op.axis_index
    offset = 0
    for part in tile.views:
        size = part.shape[axis]
        if size and part.volume:
            tile.emitter.copy(tile.out.part(axis, offset, size), part)
            offset += size


def select_pad(op: PadOp, tile: Tile) -> None:
    """
    A fill with the value, unless the operand covers the tile, then a copy of the operand's elements to their positions.
    """
    out, (a,) = tile.out, tile.views
    offsets: list[int] = []
    sizes: list[int] = []
    steps = [1 + gap for gap in ints(op.interior)]
    for dim, size in enumerate(op.operand_shape(0)):
        start = tile.box.offsets[dim] - ints(op.low)[dim]
        first = max(0, -(-start // steps[dim]))
        end = min(size, (start + tile.box.sizes[dim] - 1) // steps[dim] + 1)
        offsets.append(first * steps[dim] - start)
        sizes.append(max(0, end - first))
    inside = math.prod(sizes)
    if inside != out.volume:
        tile.emitter.fill(out, op.number)
    if inside:
        tile.emitter.copy(out.box(offsets, sizes, steps), a)


def select_gather(op: GatherOp, tile: Tile) -> None:
    """Rows by index along the axis, which strides move to the front; the data may be in DRAM."""
    out, (data, indices) = tile.out, tile.views
    axis, rank = op.axis_index, len(indices.shape)
    behind = range(axis + rank, len(out.shape))
    target = out.permute((*range(axis, axis + rank), *range(axis), *behind))
    rows = data.permute((axis, *range(axis), *range(axis + 1, len(data.shape))))
    tile.emitter.gather(target, rows, indices)


def select_iota(op: IotaOp, tile: Tile) -> None:
    """The numbers once along the axis, then copies along the other dimensions."""
    axis, out = op.axis_index, tile.out
    done = [1 if dim != axis else size for dim, size in enumerate(out.shape)]
    if 0 in out.shape:
        return
    tile.emitter.iota(out.box((0,) * len(done), done), tile.box.offsets[axis], 1)
    for dim in reversed(range(len(done))):
        size = out.shape[dim]
        if dim == axis or size == 1:
            continue
        source = out.box((0,) * len(done), done)
        done[dim] = size
        tile.emitter.copy(out.box((0,) * len(done), done).part(dim, 1, size - 1), source)
