"""Distributions of values over the cores, in the tiles in which they were computed."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from ...dialects.dataflow.reshape import Group, dimension_groups
from ...dialects.dataflow.tiling import Box
from ...support.records import lazy, quick_init
from .traffic import BoxArrays


@quick_init
@dataclass(frozen=True)
class Distribution:
    """A value in the cores' memories: each core holds the dense row-major tile `boxes[core]`, all at one address."""

    boxes: dict[int, Box]
    tile_bytes: int
    """Bytes of the largest tile."""

    @lazy
    def arrays(self) -> BoxArrays:
        """The boxes as arrays."""
        return BoxArrays.of(self.boxes)

    @lazy
    def key(self) -> Hashable:
        """
        A key that is equal for distributions of the same bytes over the same cores, and faster to compare than the
        boxes.
        """
        arrays = self.arrays
        return arrays.low.shape, arrays.cores.tobytes(), arrays.low.tobytes(), arrays.high.tobytes(), self.tile_bytes

    def stacked(self, rows: int) -> Distribution:
        """The distribution of `rows` values with this distribution, one after the other in each core."""
        boxes = {core: Box((0, *box.offsets), (rows, *box.sizes)) for core, box in self.boxes.items()}
        return Distribution(boxes, self.tile_bytes * rows)

    def row(self, shape: tuple[int, ...], rows: int, row: tuple[int, ...]) -> Distribution | None:
        """
        The distribution of one of the `rows` rows, each of shape `row`, of a value of shape `shape`; None if a core
        does not hold its part of all rows, one after the other.
        """
        seen = self.reshaped(shape, (rows, *row))
        if seen is None:
            return None
        held = {core: box for core, box in seen.boxes.items() if box.volume}
        if any(box.sizes[0] != rows for box in held.values()):
            return None
        boxes = {core: Box(box.offsets[1:], box.sizes[1:]) for core, box in held.items()}
        return Distribution(boxes, self.tile_bytes // rows)

    def reshaped(self, old: tuple[int, ...], new: tuple[int, ...]) -> Distribution | None:
        """The same memory viewed in another shape; None if a tile is not a box in that shape."""
        if old == new:
            return self
        if (old, new) not in self._views:
            self._views[old, new] = self._reshaped(old, new)
        return self._views[old, new]

    @lazy
    def _views(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Distribution | None]:
        """Results of `reshaped`."""
        return {}

    def _reshaped(self, old: tuple[int, ...], new: tuple[int, ...]) -> Distribution | None:
        groups = dimension_groups(old, new)
        boxes: dict[int, Box] = {}
        for core, box in self.boxes.items():
            seen = _reshaped_box(box, old, new, groups)
            if seen is None:
                return None
            boxes[core] = seen
        return Distribution(boxes, self.tile_bytes)


def _reshaped_box(box: Box, old: tuple[int, ...], new: tuple[int, ...], groups: list[Group]) -> Box | None:
    if box.volume == 0:
        return Box((0,) * len(new), (0,) * len(new))
    offsets: list[int] = [0] * len(new)
    sizes: list[int] = [1] * len(new)
    for group in groups:
        start, length = _contiguous_range(box, old, group.source)
        if length == 0:
            return None
        inner = math.prod(new[dim] for dim in group.target[1:])
        if length % inner or start % inner:
            return None
        offsets[group.target[0]], sizes[group.target[0]] = start // inner, length // inner
        for dim in group.target[1:]:
            sizes[dim] = new[dim]
    return Box(tuple(offsets), tuple(sizes))


def _contiguous_range(box: Box, shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, int]:
    """(start, length) of a box in a group of dimensions, as row-major positions; length 0 if it has gaps."""
    start, length = 0, 1
    pitch = 1
    whole = True  # all inner dimensions are complete
    for dim in reversed(dims):
        if not whole and box.sizes[dim] != 1:
            return 0, 0
        start += box.offsets[dim] * pitch
        length *= box.sizes[dim]
        whole = whole and box.sizes[dim] == shape[dim]
        pitch *= shape[dim]
    return start, length
