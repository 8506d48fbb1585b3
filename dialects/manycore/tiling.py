"""How an iteration space is cut over cores and time, as plain data: what `#manycore.tiling` holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ..dataflow.tiling import Box, split_blocks, split_evenly


@dataclass(frozen=True)
class Tiling:
    """
    How an iteration space is cut.

    `grid` parts per dimension go to `cores` (row-major tile number -> core); each core's tile is cut into `steps` parts
    per dimension in time, looped with `order` from the outermost dimension to the innermost.
    """

    grid: tuple[int, ...]
    cores: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]

    def tile_boxes(self, sizes: Sequence[int]) -> dict[int, Box]:
        """Core -> its tile of an iteration space of these sizes (boxes may be empty), in tile order."""
        parts = [split_evenly(size, count) for size, count in zip(sizes, self.grid, strict=True)]
        offsets = product(*([low for low, _ in ranges] for ranges in parts))
        extents = product(*([extent for _, extent in ranges] for ranges in parts))
        return dict(zip(self.cores, map(Box, offsets, extents), strict=True))

    def step_boxes(self, tile: Box) -> list[Box]:
        """The boxes that a core computes one after the other."""
        parts = [
            [(offset + low, size) for low, size in split_blocks(extent, count)]
            for offset, extent, count in zip(tile.offsets, tile.sizes, self.steps, strict=True)
        ]
        boxes: list[Box] = []
        for indices in self.step_indices():
            ranges = [parts[dim][index] for dim, index in enumerate(indices)]
            boxes.append(Box(tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)))
        return boxes

    def step_indices(self) -> list[tuple[int, ...]]:
        """Index per dimension of each step, in the order of execution."""
        looped = product(*(range(self.steps[dim]) for dim in self.order))
        place = {dim: position for position, dim in enumerate(self.order)}
        return [tuple(index[place[dim]] for dim in range(len(self.steps))) for index in looped]

    @property
    def step_count(self) -> int:
        """Number of steps of every core."""
        return math.prod(self.steps)
