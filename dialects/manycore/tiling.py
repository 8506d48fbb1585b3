"""How an iteration space is cut over cores and time, as plain data: what `#manycore.tiling` holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter

from ...support.records import lazy, quick_init
from ..dataflow.tiling import Box, split_blocks, split_evenly


@quick_init
@dataclass(frozen=True)
class Grid:
    """How an iteration space is cut over cores: into so many `parts` per dimension."""

    parts: tuple[int, ...]
    multiples: tuple[int, ...] = ()
    """By dimension, what the offsets and sizes of all parts are multiples of; empty: 1 everywhere."""

    def ranges(self, dim: int, size: int) -> list[tuple[int, int]]:
        """(Offset, size) of the parts of a dimension of this size; the last is as large as any."""
        return split_evenly(size, self.parts[dim], self.multiple(dim))

    def range_at(self, dim: int, size: int, part: int) -> tuple[int, int]:
        """(Offset, size) of one of these."""
        parts, multiple = self.parts[dim], self.multiple(dim)
        low, high = (number * (size // multiple) // parts * multiple for number in (part, part + 1))
        return low, high - low

    def multiple(self, dim: int) -> int:
        """What offsets and sizes along a dimension are multiples of."""
        return self.multiples[dim] if self.multiples else 1


@quick_init
@dataclass(frozen=True)
class Tiling:
    """
    How an iteration space is cut.

    `grid` parts per dimension go to `cores` (row-major tile number -> core); each core's tile is cut into `steps` parts
    per dimension in time, looped with `order` from the outermost dimension to the innermost. `multiples`: as of `Grid`.
    """

    grid: tuple[int, ...]
    cores: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    multiples: tuple[int, ...] = ()

    @lazy
    def over_cores(self) -> Grid:
        """The cut over cores."""
        return Grid(self.grid, self.multiples)

    def tile_boxes(self, sizes: Sequence[int]) -> dict[int, Box]:
        """Core -> its tile of an iteration space of these sizes (boxes may be empty), in tile order."""
        parts = [self.over_cores.ranges(dim, size) for dim, size in enumerate(sizes)]
        offsets = product(*([low for low, _ in ranges] for ranges in parts))
        extents = product(*([extent for _, extent in ranges] for ranges in parts))
        return dict(zip(self.cores, map(Box, offsets, extents), strict=True))

    def step_boxes(self, tile: Box) -> list[Box]:
        """The boxes that a core computes one after the other."""
        if self.step_count == 1:
            return [tile]
        parts = [split_blocks(extent, count) for extent, count in zip(tile.sizes, self.steps, strict=True)]
        offsets = [[start + low for low, _ in ranges] for start, ranges in zip(tile.offsets, parts, strict=True)]
        return list(map(Box, self._looped(offsets), self._looped([[size for _, size in ranges] for ranges in parts])))

    def step_indices(self) -> list[tuple[int, ...]]:
        """Index per dimension of each step, in the order of execution."""
        return list(self._looped([range(count) for count in self.steps]))

    def _looped(self, values: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
        """By step, in the order of execution, what `values` has of each dimension for it."""
        rows = product(*(values[dim] for dim in self.order))
        if self.order == tuple(range(len(self.order))):
            return rows
        position = sorted(range(len(self.order)), key=self.order.__getitem__)
        return map(itemgetter(*position), rows)

    @lazy
    def step_count(self) -> int:
        """Number of steps of every core."""
        return math.prod(self.steps)
