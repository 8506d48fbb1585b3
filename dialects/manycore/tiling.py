"""The tiling of an iteration space over cores and time, as plain data: the contents of `#manycore.tiling`."""

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
    """The division of an iteration space over cores: `parts` is the number of parts in each dimension."""

    parts: tuple[int, ...]
    multiples: tuple[int, ...] = ()
    """For each dimension, a divisor of the offsets and sizes of all parts; empty: all are 1."""

    def ranges(self, dim: int, size: int) -> list[tuple[int, int]]:
        """(Offset, size) of the parts of a dimension of this size; no part is larger than the last."""
        return split_evenly(size, self.parts[dim], self.multiple(dim))

    def range_at(self, dim: int, size: int, part: int) -> tuple[int, int]:
        """(Offset, size) of one of the parts of a dimension of this size."""
        parts, multiple = self.parts[dim], self.multiple(dim)
        low, high = (number * (size // multiple) // parts * multiple for number in (part, part + 1))
        return low, high - low

    def multiple(self, dim: int) -> int:
        """The divisor of the offsets and sizes along a dimension."""
        return self.multiples[dim] if self.multiples else 1


@quick_init
@dataclass(frozen=True)
class Tiling:
    """
    The division of an iteration space over cores and time.

    Each dimension is divided into `grid` parts; `cores` has the core of each tile, in row-major order. Each core's tile
    is divided into `steps` parts in each dimension, which are computed in loops over the dimensions in `order`, the
    outermost first. `multiples` is as in `Grid`.
    """

    grid: tuple[int, ...]
    cores: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    multiples: tuple[int, ...] = ()

    @lazy
    def over_cores(self) -> Grid:
        """The division over cores."""
        return Grid(self.grid, self.multiples)

    def tile_boxes(self, sizes: Sequence[int]) -> dict[int, Box]:
        """Core -> its tile of an iteration space of these sizes, in the order of tiles; tiles may be empty."""
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
        """The index in each dimension of each step, in the order of execution."""
        return list(self._looped([range(count) for count in self.steps]))

    def _looped(self, values: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
        """For each step, in the order of execution, the entries of `values` at its index in each dimension."""
        rows = product(*(values[dim] for dim in self.order))
        if self.order == tuple(range(len(self.order))):
            return rows
        position = sorted(range(len(self.order)), key=self.order.__getitem__)
        return map(itemgetter(*position), rows)

    @lazy
    def step_count(self) -> int:
        """The number of steps, which is the same on all cores."""
        return math.prod(self.steps)
