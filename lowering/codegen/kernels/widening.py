"""Products of floats and 8-bit integers: the vector unit widens one slice while the matrix unit multiplies another."""

from __future__ import annotations

import math

from ....dialects.dataflow.widening import slice_buffer_bytes, slice_rows
from ....formats.sparse.nonzero import ALL_NONZERO, Nonzero
from ....support.errors import MeshloomError
from ..view import ITEM_BYTES, View
from .common import Tile

Groups = tuple[int, int, int, int]
"""Numbers of dimensions of batch, m, k and n."""


def multiply(tile: Tile, out: View, a: View, b: View, groups: Groups, nonzero: Nonzero = ALL_NONZERO) -> None:
    """
    D[b, m, n] = (or, where the tile accumulates, +=) sum over k of A[b, m, k] * B[b, k, n]; one of the two may be of
    8-bit integers.
    """
    if a.dtype == b.dtype or 0 in out.shape or 0 in a.shape:
        tile.emitter.matmul(out, a, b, groups, tile.accumulate, nonzero)
        return
    if tile.scratch is None:
        raise MeshloomError("a product of different types needs memory to widen an operand")
    batch, m, _, _ = groups
    first = a.item_bytes < b.item_bytes
    narrow, wide = (a, b) if first else (b, a)
    summed, other = (batch + m, batch) if first else (batch, batch + m)
    depth = narrow.shape[summed]
    moved = [1 if stride == 0 else size for size, stride in zip(narrow.shape, narrow.strides, strict=True)]
    row_bytes = math.prod(moved) // moved[summed] * wide.item_bytes
    rows = slice_rows(depth, row_bytes, tile.emitter.chip.mpu_rows)
    slices = range(0, depth, rows)
    for number, low in enumerate(slices):
        size = min(rows, depth - low)
        address = tile.scratch + (tile.step * len(slices) + number) % 2 * slice_buffer_bytes(depth, row_bytes)
        widened = _widened(tile, narrow.part(summed, low, size), address, wide.dtype)
        beside = wide.part(other, low, size)
        left, right = (widened, beside) if first else (beside, widened)
        tile.emitter.matmul(out, left, right, groups, tile.accumulate or number > 0, nonzero)


def _widened(tile: Tile, source: View, address: int, dtype: int) -> View:
    """The elements of a view cast to another type, contiguous, in their order in memory."""
    strides = _strides_in_order(source, ITEM_BYTES[dtype])
    shape = tuple(1 if stride == 0 else size for size, stride in zip(source.shape, source.strides, strict=True))
    target = View(source.space, address, dtype, shape, strides)
    tile.emitter.unary("mov", target, source.walk(shape, source.strides))
    return target.walk(source.shape, strides)


def _strides_in_order(source: View, item_bytes: int) -> tuple[int, ...]:
    """Strides without gaps for elements of this size, by dimension; 0 where the view repeats its elements."""
    strides, step = [0] * len(source.shape), item_bytes
    for dim in sorted(range(len(strides)), key=lambda dim: (abs(source.strides[dim]), -dim)):
        if source.strides[dim]:
            strides[dim] = step
            step *= source.shape[dim]
    return tuple(strides)
