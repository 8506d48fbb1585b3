"""Tests of views of values that are distributed over the cores."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from meshloom.analysis.planning.storage import Distribution
from meshloom.dialects.dataflow.tiling import Box


def held(*boxes: tuple[tuple[int, ...], tuple[int, ...]]) -> Distribution:
    return Distribution({core: Box(offsets, sizes) for core, (offsets, sizes) in enumerate(boxes)}, 0)


def test_unit_dimensions_are_added_and_removed() -> None:
    seen = held(((0, 2), (1, 2)), ((0, 4), (1, 3))).reshaped((1, 7), (7, 1, 1))
    assert seen is not None
    assert seen.boxes == {0: Box((2, 0, 0), (2, 1, 1)), 1: Box((4, 0, 0), (3, 1, 1))}


def test_channels_split_where_tiles_hold_whole_channels() -> None:
    # 12 channels become 4 groups of 3; the tiles divide the rows only.
    seen = held(((0, 0), (12, 2)), ((0, 2), (12, 3))).reshaped((12, 5), (4, 3, 5))
    assert seen is not None
    assert seen.boxes == {0: Box((0, 0, 0), (4, 3, 2)), 1: Box((0, 0, 2), (4, 3, 3))}


def test_a_cut_inside_a_group_is_refused() -> None:
    # Channels 0 to 3 are one group of 3, and a third of the next group.
    assert held(((0, 0), (4, 5))).reshaped((12, 5), (4, 3, 5)) is None
    assert held(((0, 1), (2, 2))).reshaped((2, 5), (10,)) is None


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.data(),
)
def test_views_hold_the_same_elements_in_the_same_order(shape: list[int], data: st.DataObject) -> None:
    """If a view is possible, the tile of the view has the elements of the original box, in the same order."""
    total = math.prod(shape)
    divisors = [d for d in range(1, total + 1) if total % d == 0]
    outer = data.draw(st.sampled_from(divisors))
    new = (outer, total // outer)
    offsets = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    sizes = tuple(data.draw(st.integers(1, size - low)) for size, low in zip(shape, offsets, strict=True))
    seen = Distribution({0: Box(offsets, sizes)}, 0).reshaped(tuple(shape), new)
    if seen is None:
        return
    everything = np.arange(total)

    def tile(box: Box, of: tuple[int, ...]) -> list[int]:
        index = tuple(slice(low, end) for low, end in zip(box.offsets, box.ends, strict=True))
        return everything.reshape(of)[index].reshape(-1).tolist()

    assert tile(seen.boxes[0], new) == tile(Box(offsets, sizes), tuple(shape))
