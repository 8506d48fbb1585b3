"""
Products of operands of different types: the vector unit widens one slice while the matrix unit multiplies another.
"""

from __future__ import annotations

import math

from ....chips.cycles import vector_cycles
from ....dialects.coreasm.encoding import TypeCode
from ....dialects.dataflow.widening import slice_buffer_bytes, slice_rows
from ....formats.sparse.nonzero import ALL_NONZERO, Nonzero
from ....support.errors import MeshloomError
from ..instruction_plans import IDLE, Busy, rate_of
from ..view import ITEM_BYTES, View
from .common import Tile

Groups = tuple[int, int, int, int]
"""Numbers of dimensions of batch, m, k and n."""


def multiply(
    tile: Tile,
    out: View,
    a: View,
    b: View,
    groups: Groups,
    pairs: int | None,
    nonzero: Nonzero = ALL_NONZERO,
    busy: Busy = IDLE,
) -> None:
    """
    D[b, m, n] = (or, if the tile accumulates, +=) sum over k of A[b, m, k] * B[b, k, n]; one operand may have 8-bit
    integers if the other one has floats. `pairs`: the operand (0 or 1) of which each byte holds two 4-bit integers that
    are neighbours along the first of the dimensions k. `busy`: other work of the units at the same time, for operands
    of the same type.
    """
    if (a.dtype == b.dtype and pairs is None) or 0 in out.shape or 0 in a.shape:
        tile.emitter.matmul(out, a, b, groups, tile.accumulate, nonzero, busy)
        return
    batch, m, k, _ = groups
    first = pairs == 0 if pairs is not None else a.item_bytes < b.item_bytes
    if out.dtype == (b if first else a).dtype == TypeCode.F32:
        depth = math.prod(b.shape[batch : batch + k] if first else a.shape[batch + m :])
        narrow = a if first else b
        moved = math.prod(size for size, stride in zip(narrow.shape, narrow.strides, strict=True) if stride)
        if math.prod(out.shape) * depth <= moved * (1 if pairs is None else 2):
            _multiply_bytes(tile, out, a, b, groups, first, pairs is not None)
            return
    if tile.scratch is None:
        raise MeshloomError("a product of different types needs memory to widen an operand")
    narrow, wide = (a, b) if first else (b, a)
    summed, other = (batch + m, batch) if first else (batch, batch + m)
    held = 1 if pairs is None else 2
    depth = narrow.shape[summed] * held
    moved = [1 if stride == 0 else size for size, stride in zip(narrow.shape, narrow.strides, strict=True)]
    row_bytes = math.prod(moved) // moved[summed] * wide.item_bytes
    rows = slice_rows(depth, row_bytes, math.lcm(tile.emitter.chip.mpu_rows, held))
    rows -= rows % held
    slices = range(0, wide.shape[other], rows)
    # The vector unit widens a slice while the previous one, if any, is multiplied.
    elements = rows * row_bytes // wide.item_bytes if len(slices) > 1 else 0
    widening = vector_cycles(tile.emitter.chip, rate_of(narrow.dtype), elements, 1, rows * row_bytes) if elements else 0
    for number, low in enumerate(slices):
        size = min(rows, wide.shape[other] - low)
        address = tile.scratch + (tile.step * len(slices) + number) % 2 * slice_buffer_bytes(depth, row_bytes)
        part = narrow.part(summed, low // held, -(-size // held))
        if pairs is None:
            widened = _widened(tile, part, address, wide.dtype)
        else:
            widened = _unpacked(tile, part, summed, address, wide.dtype).part(summed, 0, size)
        beside = wide.part(other, low, size)
        left, right = (widened, beside) if first else (beside, widened)
        tile.emitter.matmul(out, left, right, groups, tile.accumulate or number > 0, nonzero, Busy(vector=widening))


def _multiply_bytes(tile: Tile, out: View, a: View, b: View, groups: Groups, first: bool, pairs: bool) -> None:
    """
    The product by sums of products on the vector unit, which reads bytes directly; for pairs, first of one half, then
    of the other.
    """
    emitter = tile.emitter
    if not pairs:
        emitter.dot_of_bytes("byte", out, a, b, groups, tile.accumulate)
        return
    batch, m, _, _ = groups
    narrow, wide = (a, b) if first else (b, a)
    summed, other = (batch + m, batch) if first else (batch, batch + m)
    step, size = wide.strides[other], wide.shape[other]
    apart = (*wide.strides[:other], 2 * step, *wide.strides[other + 1 :])
    for number, name in enumerate(("low4", "high4")):
        count = (size + 1 - number) // 2
        if not count:
            continue
        shape = (*wide.shape[:other], count, *wide.shape[other + 1 :])
        every_other = View(wide.space, wide.address + number * step, wide.dtype, shape, apart)
        part = narrow.part(summed, 0, count)
        left, right = (part, every_other) if first else (every_other, part)
        emitter.dot_of_bytes(name, out, left, right, groups, tile.accumulate or number > 0)


def _widened(tile: Tile, source: View, address: int, dtype: int) -> View:
    """The elements of a view cast to another type, contiguous, in their order in memory."""
    strides = _strides_in_order(source, ITEM_BYTES[dtype])
    shape = tuple(1 if stride == 0 else size for size, stride in zip(source.shape, source.strides, strict=True))
    target = View(source.space, address, dtype, shape, strides)
    tile.emitter.unary("mov", target, source.walk(shape, source.strides))
    return target.walk(source.shape, strides)


def _unpacked(tile: Tile, source: View, axis: int, address: int, dtype: int) -> View:
    """The integers of pairs along an axis, which becomes twice as long; contiguous, in the order of the pairs."""
    strides = _strides_in_order(source, ITEM_BYTES[dtype], axis)
    shape = tuple(1 if stride == 0 else size for size, stride in zip(source.shape, source.strides, strict=True))
    step = strides[axis]
    apart = (*strides[:axis], 2 * step, *strides[axis + 1 :])
    pairs = source.walk(shape, source.strides)
    for name, offset in (("low4", 0), ("high4", step)):
        tile.emitter.unary(name, View(source.space, address + offset, dtype, shape, apart), pairs)
    size = 2 * source.shape[axis]
    return View(source.space, address, dtype, (*source.shape[:axis], size, *source.shape[axis + 1 :]), strides)


def _strides_in_order(source: View, item_bytes: int, doubled: int | None = None) -> tuple[int, ...]:
    """
    Strides without gaps for elements of this size, by dimension; 0 for dimensions along which the view repeats its
    elements. `doubled`: an axis that is twice as long as in the view.
    """
    strides, step = [0] * len(source.shape), item_bytes
    for dim in sorted(range(len(strides)), key=lambda dim: (abs(source.strides[dim]), -dim)):
        if source.strides[dim] or dim == doubled:
            strides[dim] = step
            step *= source.shape[dim] * (2 if dim == doubled else 1)
    return tuple(strides)
