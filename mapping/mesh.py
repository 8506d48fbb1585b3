"""The cores that a network is mapped onto: a mesh, a part of one, or an array of chips."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chips import Chip
from ..support.errors import InputError

MAX_CORES = 1 << 24
"""Largest number of cores; larger numbers are rejected as mistakes."""

MAX_COST = 1 << 20
"""Largest number of hops between neighbours; larger numbers are rejected as mistakes."""


@dataclass(frozen=True)
class Mesh:
    """
    `width` x `height` cores, core number = y * width + x; traffic is routed along the row first, then the column (XY).

    The link from column x to x + 1 costs `column_costs[x]` hops, from row y to y + 1 `row_costs[y]`: 1 on a chip, more
    between chips. The distance between two cores is therefore the sum of the differences of their positions on both
    axes. Empty tuples mean 1 everywhere. Unusable cores (`unusable`, core numbers, ascending) hold no vertices, but
    their routers forward traffic.

    Raises InputError if a number is out of range or no core is usable.
    """

    width: int
    height: int
    unusable: tuple[int, ...] = ()
    column_costs: tuple[int, ...] = ()
    row_costs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1 or self.width * self.height > MAX_CORES:
            raise InputError(f"a mesh of {self.width} x {self.height} cores: expected 1 to {MAX_CORES:,} cores")
        for name, costs, length in (
            ("column", self.column_costs, self.width - 1),
            ("row", self.row_costs, self.height - 1),
        ):
            if costs and len(costs) != length:
                raise InputError(f"{len(costs)} {name} costs are given, a mesh of {self} needs {length}")
            if any(cost < 1 for cost in costs):
                raise InputError(f"a {name} cost is {min(costs)}: a link costs at least one hop")
            if any(cost > MAX_COST for cost in costs):
                raise InputError(f"a {name} cost is {max(costs)}: expected at most {MAX_COST:,} hops")
        if any(core < 0 or core >= self.cores for core in self.unusable):
            raise InputError(f"unusable core {max(self.unusable, key=abs)}: cores of {self} are 0 to {self.cores - 1}")
        object.__setattr__(self, "unusable", tuple(sorted(set(self.unusable))))
        if len(self.unusable) == self.cores:
            raise InputError(f"no core of {self} is usable")

    @staticmethod
    def of_chip(chip: Chip) -> Mesh:
        """The mesh of a chip, without its unusable cores."""
        return Mesh(chip.cols, chip.rows, chip.unusable_cores)

    @staticmethod
    def parse(text: str) -> Mesh:
        """The mesh that `WIDTHxHEIGHT` describes, such as "16x8". Raises InputError for other texts."""
        match = re.fullmatch(r"(\d{1,8})x(\d{1,8})", text)
        if match is None:
            raise InputError(f"mesh '{text}': expected WIDTHxHEIGHT, such as 16x16")
        return Mesh(int(match[1]), int(match[2]))

    def array(self, across: int, down: int, link_cost: int) -> Mesh:
        """An array of `across` x `down` chips like this one; a link between chips costs `link_cost` hops."""
        if across < 1 or down < 1:
            raise InputError(f"an array of {across} x {down} chips: expected at least one each way")
        width, height = self.width * across, self.height * down
        columns = _repeat(self._column_costs, across, link_cost)
        rows = _repeat(self._row_costs, down, link_cost)
        whole = np.tile(self.usable.reshape(self.height, self.width), (down, across)).ravel()
        return Mesh(width, height, tuple(np.flatnonzero(~whole).tolist()), columns, rows)

    def rectangle(self, x: int, y: int, width: int, height: int) -> Mesh:
        """The same mesh (with the same core numbers) with all cores outside of a rectangle unusable."""
        if min(x, y) < 0 or min(width, height) < 1 or x + width > self.width or y + height > self.height:
            raise InputError(f"rectangle {x},{y},{width}x{height} is not within the mesh of {self}")
        inside = np.zeros((self.height, self.width), bool)
        inside[y : y + height, x : x + width] = True
        return replace(self, unusable=tuple(np.flatnonzero(~(inside.ravel() & self.usable)).tolist()))

    def without(self, cores: Iterable[int]) -> Mesh:
        """The same mesh with more cores unusable."""
        return replace(self, unusable=(*self.unusable, *cores))

    @property
    def cores(self) -> int:
        """Number of all cores, usable or not."""
        return self.width * self.height

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """[cores] whether a core may hold vertices."""
        mask = np.ones(self.cores, bool)
        mask[list(self.unusable)] = False
        return mask

    @cached_property
    def usable_cores(self) -> NDArray[np.int32]:
        """Numbers of the usable cores, ascending."""
        return np.flatnonzero(self.usable).astype(np.int32)

    @cached_property
    def column_positions(self) -> NDArray[np.int64]:
        """[width] position of each column, in hops from column 0."""
        return np.concatenate([[0], np.cumsum(self._column_costs, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def row_positions(self) -> NDArray[np.int64]:
        """[height] position of each row, in hops from row 0."""
        return np.concatenate([[0], np.cumsum(self._row_costs, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def x(self) -> NDArray[np.int64]:
        """[cores] position of each core on the x axis, in hops."""
        return np.tile(self.column_positions, self.height)

    @cached_property
    def y(self) -> NDArray[np.int64]:
        """[cores] position of each core on the y axis, in hops."""
        return np.repeat(self.row_positions, self.width)

    def hops(self, a: NDArray[np.integer[Any]], b: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Hops between cores `a` and cores `b` (core numbers, of any shapes that broadcast)."""
        return np.abs(self.x[a] - self.x[b]) + np.abs(self.y[a] - self.y[b])

    @property
    def _column_costs(self) -> tuple[int, ...]:
        return self.column_costs or (1,) * (self.width - 1)

    @property
    def _row_costs(self) -> tuple[int, ...]:
        return self.row_costs or (1,) * (self.height - 1)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


def _repeat(costs: Sequence[int], times: int, between: int) -> tuple[int, ...]:
    return (*costs, *((between, *costs) * (times - 1)))
