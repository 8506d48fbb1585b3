"""What is expected of neurons that are often zero: how many count, in one row and in neighbouring ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .encode import Mask

DIGITS = 3
"""Of measured shares: more would only look exact."""
MAX_DOUBLINGS = 12
"""Rows of a tile are seldom more than 2 to this power."""
Floats = NDArray[np.float32]


class LaneShares(NamedTuple):
    """
    What counts of the weights in the lane that takes longest, in some neighbouring rows (samples, places of a
    convolution); shares of what the fullest lane stores.
    """

    pairs: float
    """Weights that meet an input that is not zero, row by row; the mean over rows."""
    met: float
    """Weights that meet one in one of the rows at least. Zeros come in clusters, so that this does not follow."""
    spread: float
    """Standard deviation of `met` over tiles."""


@dataclass(frozen=True)
class Nonzero:
    """Which part of the inputs of a product is not zero."""

    density: float = 1.0
    """The share in a row, of inputs that meet a stored weight: one that meets many of them counts as often."""
    lanes: tuple[LaneShares, ...] = ()
    """Of 1, 2, 4, 8... rows, as far as they are known."""

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        return self.density < 1

    def of_lane(self, rows: int) -> LaneShares:
        """The lane that takes longest, for so many neighbouring rows."""
        lanes = self.lanes or (LaneShares(self.density, self.density, 0.0),)
        place = math.log2(max(1, rows))
        below, last = int(place), len(lanes) - 1
        if below < last:
            low, high = lanes[below : below + 2]
            return LaneShares(*(a + (place - below) * (b - a) for a, b in zip(low, high, strict=True)))
        # Beyond what is known, as if rows were independent of each other.
        return lanes[last]._replace(met=1 - (1 - lanes[last].met) ** (rows / 2**last))

    @property
    def numbers(self) -> list[float]:
        """As a list: the density, then the shares."""
        return [self.density, *(number for shares in self.lanes for number in shares)]

    @staticmethod
    def from_numbers(numbers: Sequence[float]) -> Nonzero:
        """The inverse of `numbers`. Raises ValueError for lists that mean nothing."""
        fields = len(LaneShares._fields)
        if len(numbers) % fields != 1 or not all(0 <= number <= 1 for number in numbers):
            raise ValueError(f"{list(numbers)}: expected a density and {fields} for each number of rows, all 0 to 1")
        starts = range(1, len(numbers), fields)
        found = Nonzero(numbers[0], tuple(LaneShares(*numbers[start : start + fields]) for start in starts))
        met = [shares.met for shares in found.lanes]
        if sorted(met) != met:
            raise ValueError(f"{list(numbers)}: more rows cannot meet less than {met}")
        return found


ALL_NONZERO = Nonzero()
"""Where no zeros are expected."""


def measured(counts: Mask, stored: Mask | None = None, lanes: int = 1) -> Nonzero:
    """
    Of neurons [inputs, rows] that count or do not, rows in the order in which a tile has them.

    `stored` [groups, outputs, inputs of a group] says which weights are stored (None: all); `lanes` neighbouring
    outputs are worked on at a time.
    """
    if not counts.size:
        return ALL_NONZERO
    if stored is None or not stored.any():
        stored = np.ones((1, 1, len(counts)), np.bool_)
    if stored.all():
        stored = stored[:, :1]  # all outputs are alike
    weights = stored.astype(np.float32)
    fullest = float(_longest(weights.sum(axis=2, keepdims=True), lanes).mean())
    density, found = 1.0, list[LaneShares]()
    for met, pairs in _doublings(counts, weights):
        if not found:
            density = float(met.mean() / weights.sum(axis=2).mean())
        longest = _longest(met, lanes) / fullest
        share = min(1.0, max([float(longest.mean()), *(shares.met for shares in found)]))
        found.append(LaneShares(min(1.0, float(_longest(pairs, lanes).mean()) / fullest), share, float(longest.std())))
        if share == 1:
            break
    rounded = [round(min(1.0, number), DIGITS) for number in Nonzero(density, tuple(found)).numbers]
    return Nonzero.from_numbers(rounded)


def _doublings(counts: Mask, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    """
    [groups, outputs, tiles] stored weights that meet an input in 1, 2, 4... rows, and how many do in each of these rows
    on average.
    """
    groups, _, inputs = weights.shape
    rows = counts.shape[1]
    counts = counts.reshape(groups, inputs, rows)
    pairs = met = weights @ counts.astype(np.float32)
    for doubling in range(1 + min(MAX_DOUBLINGS, rows.bit_length() - 1)):
        if doubling:
            tiles = counts.shape[2] // 2
            counts = counts[:, :, : 2 * tiles].reshape(groups, inputs, tiles, 2).max(axis=3)
            pairs = pairs[:, :, : 2 * tiles].reshape(groups, -1, tiles, 2).mean(axis=3)
            met = weights @ counts.astype(np.float32)
        yield met, pairs


def _longest(work: Floats, lanes: int) -> Floats:
    """[blocks of lanes, tiles] the most of a lane; `work` is [groups, outputs, tiles]."""
    groups, outputs, tiles = work.shape
    blocks = -(-outputs // lanes)
    padded = np.zeros((groups, blocks * lanes, tiles), np.float32)
    padded[:, :outputs] = work
    return padded.reshape(groups * blocks, lanes, tiles).max(axis=1)
