"""Property tests of contiguous blocks, against the numbers of elements in NumPy arrays."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from meshloom.dialects.dataflow.tiling import Box
from meshloom.transforms.shared.blocks import blocks, boxes_in_order, count_blocks, count_common_blocks, start_of
from numpy.typing import NDArray

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


def elements(shape: tuple[int, ...], box: Box) -> NDArray[np.int64]:
    """The numbers of the elements of a box, in row-major order."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    inside = tuple(slice(low, high) for low, high in zip(box.offsets, box.ends, strict=True))
    return numbers[inside].reshape(-1)


@given(SHAPES, st.integers(1, 40))
def test_blocks_are_adjacent_and_small_enough(shape: tuple[int, ...], most: int) -> None:
    count = count_blocks(shape, 2, most)
    cut = blocks(shape, count)
    assert len(cut) == count
    found = [elements(shape, box) for box in cut]
    np.testing.assert_array_equal(np.concatenate(found), np.arange(math.prod(shape)))
    assert all(one.size * 2 <= max(most, 2) for one in found)
    assert [start_of(shape, box) for box in cut] == [int(one[0]) for one in found]
    # The blocks form a grid, because they are joined dimension by dimension.
    grid = [{(box.offsets[dim], box.sizes[dim]) for box in cut} for dim in range(len(shape))]
    assert math.prod(map(len, grid)) == count


@given(SHAPES, st.data())
def test_boxes_of_a_range(shape: tuple[int, ...], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, math.prod(shape)))
    stop = data.draw(st.integers(start, math.prod(shape)))
    boxes = boxes_in_order(shape, start, stop)
    found = [elements(shape, box) for box in boxes]
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, np.int64), *found]), np.arange(start, stop))
    assert len(boxes) <= 2 * len(shape) - 1  # two for each dimension, except one for the outermost


def test_blocks_of_both_shapes_are_preferred() -> None:
    assert count_common_blocks((6, 12), (1, 9, 4, 2), 1, 40) == 3
    assert count_common_blocks((6, 12), (8, 9), 1, 40) == 2  # 3 x 12 and 4 x 9 have the same elements
    assert count_common_blocks((7, 10), (10, 7), 1, 40) == 2  # no block of both shapes: blocks of 5 x 7
    assert count_common_blocks((2, 30), (3, 20), 1, 9) == 3 * 3  # parts of rows


def test_boxes_that_are_read_are_within_blocks() -> None:
    # 3 blocks are sufficient; with 4, each of these boxes is within one block.
    boxes = [Box((0, 0), (2, 5)), Box((2, 0), (2, 5)), Box((4, 0), (2, 5)), Box((6, 0), (2, 5))]
    assert count_blocks((8, 5), 1, 15) == 3
    assert count_blocks((8, 5), 1, 15, boxes) == 4
