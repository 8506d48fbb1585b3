"""What is expected of neurons that are often zero: how many count, in one row and in neighbouring ones."""

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
    What counts in the lane that takes longest, for tiles of some size. Pairs and weights are shares of what the fullest
    lane stores.
    """

    lines: float
    """Of a tile, in the mean. Rows (samples, places of a convolution) lie in lines, the last dimension along them."""
    positions: float
    """Of a line of a tile, in the mean."""
    pairs: float
    """Weights that meet an input that is not zero, row by row; the mean over rows."""
    met: float
    """Weights that meet one in one of the rows at least. Zeros come in clusters, so that this does not follow."""
    spread: float
    """Standard deviation of `met` over tiles."""
    loads: float
    """Loads of weights, of those that it takes to load all that the fullest lane stores. Only whole ones are made."""

    @property
    def rows(self) -> float:
        """Of a tile, in the mean."""
        return self.lines * self.positions


class Activations(Protocol):
    """Activations whose share of nonzero elements is known for each group of weights."""

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        ...

    def on_dense_weights(self) -> Nonzero:
        """What counts for weights of which all are stored."""
        ...

    def in_panels(self, width: int, depth: int) -> Nonzero:
        """What counts for the weights that are not zero, in panels of so many output neurons and inputs."""
        ...

    def as_stored(self, panels: Panels) -> Nonzero:
        """The same with all that the format of the panels stores, fillers and whole groups."""
        ...


@dataclass(frozen=True)
class Nonzero:
    """Which part of the inputs of a product is not zero. As `Neurons`, the same for whatever weights."""

    density: float = 1.0
    """The share in a row, of inputs that meet a stored weight: one that meets many of them counts as often."""
    lanes: tuple[LaneShares, ...] = ()
    """Where they are known, for some numbers of lines and all of some numbers of places each, ascending."""

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        return self.density < 1

    @cached_property
    def _sides(self) -> tuple[list[float], list[float]]:
        """The numbers of lines and those of places."""
        return sorted({one.lines for one in self.lanes}), sorted({one.positions for one in self.lanes})

    @cached_property
    def _asked(self) -> dict[tuple[int, int], LaneShares]:
        return {}

    def of_lane(self, rows: int, lines: int = 0) -> LaneShares:
        """
        The lane that takes longest, for so many neighbouring rows in so many lines (0: a tile of the shape of all
        rows). Between what is known, by the logarithm of sizes; where nothing is, `loads` are as `met`.
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
        if rows > last.rows:  # beyond what is known, as if rows were independent of each other
            found = found._replace(met=1 - (1 - last.met) ** (rows / last.rows))
        self._asked[rows, lines] = found
        return found

    def on_dense_weights(self) -> Nonzero:
        """See `Neurons`."""
        return self

    def in_panels(self, width: int, depth: int) -> Nonzero:
        """See `Neurons`."""
        return self

    def as_stored(self, panels: Panels) -> Nonzero:
        """See `Neurons`."""
        return self

    @property
    def numbers(self) -> list[float]:
        """As a list: the density, then the sizes of tiles, each with its shares."""
        return [self.density, *(number for shares in self.lanes for number in shares)]

    @staticmethod
    def from_numbers(numbers: Sequence[float]) -> Nonzero:
        """The inverse of `numbers`. Raises ValueError for lists that mean nothing."""
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
                raise ValueError(f"{list(numbers)}: more rows cannot meet less than fewer ({one.met})")
        return found


def _place(sizes: list[float], size: float) -> tuple[int, float]:
    """Between which of the ascending sizes one lies: the place of the first, and how far it is to the next."""
    after = bisect_right(sizes, size)
    if after in (0, len(sizes)):
        return max(0, after - 1), 0.0
    low, high = sizes[after - 1 : after + 1]
    return after - 1, math.log(size / low) / math.log(high / low)


def _mean(a: LaneShares, b: LaneShares, share: float) -> LaneShares:
    """Both, `b` with this share."""
    return LaneShares(*(one + share * (other - one) for one, other in zip(a, b, strict=True))) if share else a


ALL_NONZERO = Nonzero()
"""Where no zeros are expected."""
