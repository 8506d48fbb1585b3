"""Contiguous blocks: division of a tensor into parts whose elements are consecutive in row-major order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dialects.dataflow.tiling import Box, split_evenly
from .split_operator import FINER

Shape = Sequence[int]


def blocks(shape: Shape, count: int) -> list[Box]:
    """
    Cut a tensor into `count` blocks, in the order of its elements. The count divides the number of rows (the size of
    the outermost dimension that is not 1), or is a multiple of it, with equally many blocks in each row.
    """
    axis = _outermost(shape)
    if count > shape[axis]:
        inside = blocks(_row(shape), count // shape[axis])
        return [box.along(axis, row, 1) for row in range(shape[axis]) for box in inside]
    return [Box.whole(shape).along(axis, low, size) for low, size in split_evenly(shape[axis], count)]


def count_blocks(shape: Shape, itemsize: int, most: int, boxes: Sequence[Box] = ()) -> int:
    """
    A small number of blocks of at most `most` bytes each (or of one element), so that each of the boxes, which are read
    or written, is in one block or consists of whole blocks; 1: the tensor is one block.
    """
    if not shape:
        return 1
    axis = _outermost(shape)
    size = shape[axis]
    row = math.prod(shape[axis + 1 :]) * itemsize
    if row > most and size > 1:
        return size * count_blocks(_row(shape), itemsize, most, boxes)
    least = -(-size // max(1, most // max(row, 1)))
    ranges = {(box.offsets[axis], box.ends[axis]) for box in boxes}
    alike = len(ranges) * -(-least // max(1, len(ranges)))
    if least == 1 or not least <= alike <= min(size, FINER * least):
        return least

    def touching(count: int) -> int:
        rows = split_evenly(size, count)
        return sum(start < end and low < start + length for start, length in rows for low, end in ranges)

    return min(least, alike, key=touching)


def count_common_blocks(shape: Shape, other: Shape, itemsize: int, most: int) -> int:
    """
    The smallest number of equal blocks of at most `most` bytes that consist of whole rows in both shapes of the same
    elements; if there is none, the number of blocks of the other shape. 1: the tensor is one block.
    """
    nbytes = math.prod(shape) * itemsize
    common = math.gcd(*(one[_outermost(one)] for one in (shape, other))) if shape and other else 1
    alike = (count for count in range(2, common + 1) if common % count == 0 and nbytes <= most * count)
    return next(alike, 0) or count_blocks(other, itemsize, most)


def boxes_in_order(shape: Shape, start: int, stop: int) -> list[Box]:
    """The boxes that make up elements `start` to `stop` (not included) of a tensor in row-major order, in order."""
    axis = _outermost(shape)
    row = math.prod(shape[axis + 1 :])
    low, high = -(-start // row), stop // row  # whole rows

    def in_row(number: int, first: int, last: int) -> list[Box]:
        return [box.along(axis, number, 1) for box in boxes_in_order(_row(shape), first, last)]

    if low > high:
        return in_row(high, start - high * row, stop - high * row)
    found = in_row(low - 1, start - (low - 1) * row, row) if start < low * row else []
    if low < high:
        found.append(Box.whole(shape).along(axis, low, high - low))
    return found + (in_row(high, 0, stop - high * row) if high * row < stop else [])


def start_of(shape: Shape, box: Box) -> int:
    """Number of elements of a tensor before a box of it in row-major order."""
    start = 0
    for size, offset in zip(shape, box.offsets, strict=True):
        start = start * size + offset
    return start


def _outermost(shape: Shape) -> int:
    """The first dimension that is not 1."""
    return next((dim for dim, size in enumerate(shape) if size > 1), 0)


def _row(shape: Shape) -> Shape:
    """The shape of one row, with as many dimensions."""
    axis = _outermost(shape)
    return (*shape[:axis], 1, *shape[axis + 1 :])
