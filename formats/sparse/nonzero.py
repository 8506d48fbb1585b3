"""Expected shares of nonzero activations, in one row and in tiles of neighbouring rows."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from .panels import Panels


class LaneShares(NamedTuple):
    """
    Expected work of the lane that takes longest, for tiles of one size. `pairs`, `met`, `spread` and `loads` are shares
    of what the fullest lane stores.
    """

    lines: float
    """Mean number of lines of a tile. Rows (samples, convolution positions) form lines along the last dimension."""
    positions: float
    """Mean number of rows of a line of a tile."""
    pairs: float
    """Share of weights whose input is nonzero, in the mean over rows."""
    met: float
    """Share of weights whose input is nonzero in at least one row. Zeros cluster: it does not follow from `pairs`."""
    spread: float
    """Standard deviation of `met` over tiles."""
    loads: float
    """Share of the weight loads that all weights of the fullest lane need, rounded to whole loads."""

    @property
    def rows(self) -> float:
        """Mean number of rows of a tile."""
        return self.lines * self.positions


class Activations(Protocol):
    """Activations whose share of nonzero elements is known for each group of weights."""

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        ...

    def on_dense_weights(self) -> Nonzero:
        """The shares for weights that are all stored."""
        ...

    def in_panels(self, width: int, depth: int) -> Nonzero:
        """The shares for nonzero weights, in panels of `width` output neurons and `depth` inputs."""
        ...

    def as_stored(self, panels: Panels) -> Nonzero:
        """As `in_panels`, but for all elements that the format of the panels stores: fillers and whole groups too."""
        ...


@dataclass(frozen=True)
class Nonzero:
    """The share of nonzero inputs of a product. As `Activations`, it is the same for any weights."""

    density: float = 1.0
    """Share of nonzero inputs in a row, over all pairs of a stored weight and its input."""
    lanes: tuple[LaneShares, ...] = ()
    """Known shares, if any: for each of some numbers of lines, each of some numbers of positions, both ascending."""

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        return self.density < 1

    @cached_property
    def _sides(self) -> tuple[list[float], list[float]]:
        """The known numbers of lines, and those of positions."""
        return sorted({one.lines for one in self.lanes}), sorted({one.positions for one in self.lanes})

    @cached_property
    def _asked(self) -> dict[tuple[int, int], LaneShares]:
        return {}

    def of_lane(self, rows: int, lines: int = 0) -> LaneShares:
        """
        The shares of the lane that takes longest, for a tile of `rows` neighbouring rows in `lines` lines (0: a tile
        with the proportions of the largest known one). Interpolated between known sizes by their logarithms; if none is
        known, rows count as independent, and `loads` equals `met`.
        """
        if not self.lanes:
            met = 1 - (1 - self.density) ** rows
            return LaneShares(1, rows, self.density, met, 0.0, met)
        if (asked := self._asked.get((rows, lines))) is not None:
            return asked
        last = self.lanes[-1]
        high = lines or max(1.0, min(rows, last.lines * min(1.0, math.sqrt(rows / last.rows))))
        (above, down), (left, right) = (_place(*one) for one in zip(self._sides, (high, rows / high), strict=True))
        width = len(self._sides[1])
        corners = [self.lanes[min(above + i, len(self._sides[0]) - 1) * width :] for i in (0, 1)]
        upper, lower = (_mean(one[left], one[min(left + 1, width - 1)], right) for one in corners)
        found = _mean(upper, lower, down)
        if rows > last.rows:  # beyond the known sizes, rows count as independent
            found = found._replace(met=1 - (1 - last.met) ** (rows / last.rows))
        self._asked[rows, lines] = found
        return found

    def on_dense_weights(self) -> Nonzero:
        """See `Activations`."""
        return self

    def in_panels(self, width: int, depth: int) -> Nonzero:
        """See `Activations`."""
        return self

    def as_stored(self, panels: Panels) -> Nonzero:
        """See `Activations`."""
        return self

    @property
    def numbers(self) -> list[float]:
        """As a list: the density, then for each known size of tiles the fields of `LaneShares`."""
        return [self.density, *(number for shares in self.lanes for number in shares)]

    @staticmethod
    def from_numbers(numbers: Sequence[float]) -> Nonzero:
        """The inverse of `numbers`. Raises ValueError for invalid lists."""
        fields = len(LaneShares._fields)
        starts = range(1, len(numbers), fields)
        sizes = [(numbers[start], numbers[start + 1]) for start in starts if start + 1 < len(numbers)]
        shares = [number for at, number in enumerate(numbers) if at % fields not in (1, 2)]
        if len(numbers) % fields != 1 or not all(0 <= share <= 1 for share in shares):
            raise ValueError(
                f"{list(numbers)}: expected a density, then lines, places and {fields - 2} shares for each size of "
                f"tiles; shares are 0 to 1"
            )
        found = Nonzero(numbers[0], tuple(LaneShares(*numbers[start : start + fields]) for start in starts))
        if sizes != list(product(*found._sides)) or not all(1 <= side < math.inf for size in sizes for side in size):
            raise ValueError(f"{list(numbers)}: expected each number of lines with each of places, ascending from 1")
        width = len(found._sides[1])
        for at, one in enumerate(found.lanes):
            smaller = [found.lanes[at - 1].met] if at % width else []
            smaller += [found.lanes[at - width].met] if at >= width else []
            if any(one.met < met for met in smaller):
                raise ValueError(f"{list(numbers)}: shares must not decrease with more rows ({one.met})")
        return found


def _place(sizes: list[float], size: float) -> tuple[int, float]:
    """(index, share): the last of the ascending sizes that is not above `size`, and how far `size` is to the next."""
    after = bisect_right(sizes, size)
    if after in (0, len(sizes)):
        return max(0, after - 1), 0.0
    low, high = sizes[after - 1 : after + 1]
    return after - 1, math.log(size / low) / math.log(high / low)


def _mean(a: LaneShares, b: LaneShares, share: float) -> LaneShares:
    """The weighted mean, in which `b` has the weight `share`."""
    return LaneShares(*(one + share * (other - one) for one, other in zip(a, b, strict=True))) if share else a


ALL_NONZERO = Nonzero()
"""For inputs without expected zeros."""
