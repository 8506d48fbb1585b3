"""
The slices of one value that many cores read, as arrays, because a grid of hundreds of tiles has few different ranges
along an axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dialects.dataflow.tiling import Box, OperandSlice
from ...dialects.manycore import Tiling
from ...support.records import lazy, quick_init
from .number_rows import number_rows
from .slice_bounds import slice_bounds

Extent: TypeAlias = tuple[int, int, int, int, int]
"""A slice along an axis: offset, size, positions of padding before and after, step."""
EXTENT = 5


@quick_init
@dataclass(frozen=True)
class Tiles:
    """Tiles of an iteration space that is cut evenly over cores: all nonempty tiles, or some of them."""

    tiling: Tiling
    sizes: tuple[int, ...]
    """Sizes of the iteration space."""
    numbers: NDArray[np.int64]
    """[tiles] in row-major order of the grid"""
    sampled: bool
    """Whether these are only some of the tiles."""

    @staticmethod
    def of(tiling: Tiling, sizes: tuple[int, ...], numbers: Sequence[int] | None = None) -> Tiles:
        """Tiles of an iteration space of these sizes; `numbers`: the numbers of some tiles, None: all tiles."""
        chosen = np.arange(len(tiling.cores)) if numbers is None else np.array(numbers, np.int64)
        tiles = Tiles(tiling, sizes, chosen, len(chosen) < len(tiling.cores))
        cut = tiling.over_cores
        for dim, (size, parts) in enumerate(zip(sizes, tiling.grid, strict=True)):
            if parts > size // cut.multiple(dim):
                filled = np.array([extent > 0 for _, extent in cut.ranges(dim, size)])
                tiles = replace(tiles, numbers=tiles.numbers[filled[tiles.position(dim)]])
        return tiles

    @lazy
    def cores(self) -> NDArray[np.int64]:
        """[tiles]"""
        return np.array(self.tiling.cores, np.int64)[self.numbers]

    def position(self, dim: int) -> NDArray[np.int64]:
        """[tiles] position in the grid along a dimension"""
        return self.numbers // prod(self.tiling.grid[dim + 1 :]) % self.tiling.grid[dim]

    def boxes(self) -> dict[int, Box]:
        """Core -> tile."""
        ranges, which = self.along(range(len(self.sizes)))
        boxes = [Box(tuple(low for low, _ in own), tuple(extent for _, extent in own)) for own in ranges]
        cores: list[int] = self.cores.tolist()
        numbers: list[int] = which.tolist()
        return {core: boxes[number] for core, number in zip(cores, numbers, strict=True)}

    @property
    def is_whole(self) -> bool:
        """Whether these are all tiles."""
        return len(self.numbers) == len(self.tiling.cores)

    def which(self, dims: Sequence[int]) -> NDArray[np.int64]:
        """[tiles] if these are all tiles: the number of the range of `along` that each tile has."""
        found = np.zeros(len(self.numbers), np.int64)
        for dim in dims:
            found = found * self.tiling.grid[dim] + self.position(dim)
        return found

    def along(self, dims: Sequence[int]) -> tuple[list[tuple[tuple[int, int], ...]], NDArray[np.int64]]:
        """
        (Ranges of tiles along some dimensions: (offset, size) by dimension; [tiles] the number of the range of each).
        """
        grid, cut = self.tiling.grid, self.tiling.over_cores
        if self.is_whole:
            return list(product(*(cut.ranges(dim, self.sizes[dim]) for dim in dims))), self.which(dims)
        strides = [prod(grid[dim + 1 :]) for dim in dims]
        numbers: list[int] = self.numbers.tolist()
        ranges = [
            tuple(self._range(dim, number // stride % grid[dim]) for dim, stride in zip(dims, strides, strict=True))
            for number in numbers
        ]
        return ranges, np.arange(len(ranges))

    def _range(self, dim: int, position: int) -> tuple[int, int]:
        """(Offset, size) along a dimension at a position in the grid."""
        return self.tiling.over_cores.range_at(dim, self.sizes[dim], position)


def extents_of(sliced: OperandSlice) -> tuple[Extent, ...]:
    """By axis, the extent of a slice along it."""
    return tuple(zip(sliced.box.offsets, sliced.box.sizes, sliced.pad_low, sliced.pad_high, sliced.steps, strict=True))


@quick_init
@dataclass(frozen=True, eq=False)
class Slices(Mapping[int, OperandSlice]):
    """Core -> the slice that its tile reads."""

    tiles: Tiles
    dims: tuple[int, ...]
    """Dimensions that are cut and on which the slices depend."""
    like: OperandSlice
    """A slice with the same value for padding."""
    find_extents: Callable[[], NDArray[np.int64]] = field(repr=False)
    """Computes `extents` on demand, since they are rarely needed for sampled tiles."""

    @lazy
    def extents(self) -> NDArray[np.int64]:
        """[cores, axes, 5] as `Extent`"""
        return self.find_extents()

    @property
    def cores(self) -> NDArray[np.int64]:
        """The cores with tiles."""
        return self.tiles.cores

    def __len__(self) -> int:
        return len(self.tiles.numbers)

    def __iter__(self) -> Iterator[int]:
        cores: list[int] = self.cores.tolist()
        return iter(cores)

    def __getitem__(self, core: int) -> OperandSlice:
        return self._slices[core]

    def values(self) -> ValuesView[OperandSlice]:
        return self._slices.values()

    def items(self) -> ItemsView[int, OperandSlice]:
        return self._slices.items()

    @lazy
    def _slices(self) -> dict[int, OperandSlice]:
        cores: list[int] = self.cores.tolist()
        columns: list[list[list[int]]] = self.extents.transpose(0, 2, 1).tolist()
        found: dict[int, OperandSlice] = {}
        for core, (offsets, sizes, low, high, steps) in zip(cores, columns, strict=True):
            box = Box(tuple(offsets), tuple(sizes))
            found[core] = OperandSlice(
                box, tuple(low), tuple(high), self.like.pad_value, tuple(steps), self.like.indexed, self.like.exact
            )
        return found

    @property
    def is_padded(self) -> bool:
        """Whether some core reads positions outside the value."""
        return self._measured[2]

    @property
    def largest_gathered(self) -> int:
        """Elements of the largest buffer for positions within the bounds, and for padding."""
        return self._measured[3]

    @property
    def is_plain(self) -> bool:
        """Whether all slices are boxes of the value, without padding or steps."""
        return not self.is_padded and bool((self.extents[:, :, 4] == 1).all())

    @lazy
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of cores that read the same slice."""
        group, count = number_rows(self.extents.reshape(len(self), self.like.box.rank * EXTENT))
        if not count:
            return ()
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(1, count))
        return tuple(tuple(cores.tolist()) for cores in np.split(self.cores[order], ends))

    @lazy
    def group_sizes(self) -> Counter[int]:
        """Number of groups by their number of cores; for sampled tiles, as if all slices differed."""
        if not self.tiles.sampled:
            return Counter(map(len, self.groups))
        tiling = self.tiles.tiling
        parts = prod(tiling.grid[dim] for dim in self.dims)
        return Counter({len(tiling.cores) // parts: parts})

    @property
    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[cores, axes] the first position of the value within a slice's bounds, and one past the last."""
        return self._measured[:2]

    @lazy
    def _measured(self) -> tuple[NDArray[np.int64], NDArray[np.int64], bool, int]:
        return slice_bounds(self.extents)

    @property
    def origins(self) -> NDArray[np.int64]:
        """[cores, axes] the position of the value, or before it, that comes first in such a buffer"""
        return self.bounds[0] - self.extents[:, :, 2]

    @property
    def gathered(self) -> NDArray[np.int64]:
        """[cores, axes] shapes of buffers for positions within the bounds, and for padding."""
        low, high = self.bounds
        return high - low + self.extents[:, :, 2] + self.extents[:, :, 3]
