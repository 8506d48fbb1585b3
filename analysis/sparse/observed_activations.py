"""Observed nonzero activations, and the resulting work of the lanes of a matrix unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.cycles import load_cycles
from ...formats.sparse.encode import Mask, stored_mask
from ...formats.sparse.index_formats import DIRECT, Format
from ...formats.sparse.nonzero import ALL_NONZERO, LaneShares, Nonzero
from ...formats.sparse.panels import Lanes, Panels

DIGITS = 3
"""Decimals of measured shares; more would not be significant."""
MAX_CUTS = 1024
"""Smallest tile of rows that is measured; smaller tiles are treated like it."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ObservedActivations:
    """The nonzero neurons of a contraction, and the weights that they are multiplied by (as `nonzero.Neurons`)."""

    counts: Mask
    """[inputs, lines, places]"""
    stored: Mask
    """[groups, outputs, inputs of a group] whether a weight is nonzero."""
    chip: Chip
    rate: int = 1
    """Multiply-accumulates of the element type in the time of one in f32."""
    _known: dict[tuple[int, int, Format], Nonzero] = field(default_factory=dict[tuple[int, int, Format], Nonzero])

    @property
    def has_zeros(self) -> bool:
        """Whether any neuron was zero."""
        return self._some_zero

    @cached_property
    def _some_zero(self) -> bool:
        return not bool(self.counts.all())

    def on_dense_weights(self) -> Nonzero:
        """The work with dense weights, which is the same for all outputs of a group."""
        groups, _, inputs = self.stored.shape
        columns = Lanes(self.chip.mpu_cols, self.chip.mpu_rows * self.rate)
        return self._seen(np.ones((groups, 1, inputs), np.bool_), 1, inputs, columns)

    def in_panels(self, width: int, depth: int) -> Nonzero:
        """The work of the slowest lane, with only nonzero weights stored; mean over panels."""
        key = (width, depth, DIRECT)
        if key not in self._known:
            self._known[key] = self._seen(self.stored, width, depth, Lanes.of(self.chip, self.rate))
        return self._known[key]

    def as_stored(self, panels: Panels) -> Nonzero:
        """The activations with the weights that are stored: nonzero weights, fillers and whole groups."""
        if panels.format == DIRECT:
            return self.in_panels(panels.width, panels.depth)
        key = (panels.width, panels.depth, panels.format)
        if key not in self._known:
            matrix = self.stored.reshape(panels.outputs, panels.inputs)
            starts = range(0, panels.inputs, panels.depth)
            parts = [stored_mask(matrix[:, start : start + panels.depth], panels.format) for start in starts]
            stored = np.concatenate(parts, axis=1).reshape(self.stored.shape)
            self._known[key] = self._seen(stored, panels.width, panels.depth, Lanes.of(self.chip, self.rate))
        return self._known[key]

    def _seen(self, stored: Mask, width: int, depth: int, lanes: Lanes) -> Nonzero:
        if not self.counts.size or not stored.any() or not self.has_zeros:
            return ALL_NONZERO
        groups, _, inputs = stored.shape
        counts = self.counts.reshape(groups, inputs, *self.counts.shape[1:])
        meeting = stored.sum(axis=1) / stored.sum()  # [groups, inputs]
        density = float((meeting * counts.mean(axis=(2, 3))).sum())
        parts = [
            self._by_size(counts[:, start : start + depth], stored[:, :, start : start + depth], width, lanes)
            for start in range(0, inputs, depth)
        ]
        found: list[LaneShares] = []
        across = len(_cuts(counts.shape[3], self._most_cuts(3)))
        for tiles in zip(*parts, strict=True):
            weights, loads = (float(sum(getattr(one, name) for one in tiles)) for name in ("fullest", "full_loads"))
            pairs, met, made = (np.sum([getattr(one, name) for one in tiles], axis=0) for name in _BY_TILE)
            panels = len(met)
            # Larger tiles have no less work; means may, if tiles differ in size by one.
            smaller = [found[-1].met] if len(found) % across else []
            smaller += [found[-across].met] if len(found) >= across else []
            shares = (
                float(pairs.mean()) / weights,
                max([float(met.mean()) * panels / weights, *smaller]),
                float(met.std()) * panels / weights,
                float(made.mean()) / loads,
            )
            found.append(LaneShares(tiles[0].lines, tiles[0].positions, *(min(1.0, share) for share in shares)))
        numbers = Nonzero(min(1.0, density), tuple(found)).numbers
        return Nonzero.from_numbers([round(number, DIGITS) for number in numbers])

    def _most_cuts(self, axis: int) -> int:
        """Largest number of tiles along an axis: lines (2) or places (3)."""
        lines = min(self.counts.shape[1], math.isqrt(MAX_CUTS))
        return lines if axis == 2 else MAX_CUTS // lines

    def _by_size(self, counts: Mask, stored: Mask, width: int, lanes: Lanes) -> Iterator[_Tiles]:
        """
        The work on [groups, inputs, lines, places] neurons in tiles of increasing numbers of lines, and of places.
        """
        weights = stored.astype(np.float32)
        fullest = _by_lane(weights.sum(axis=2, keepdims=True), width, lanes.count).max(axis=1)
        high = wide = counts.astype(np.int32)
        for lines in _cuts(counts.shape[2], self._most_cuts(2)):
            high = _joined(high, 2, lines, counts.shape[2])
            wide = high
            for positions in _cuts(counts.shape[3], self._most_cuts(3)):
                wide = _joined(wide, 3, positions, counts.shape[3])
                sizes = _sizes(counts.shape[2], lines)[:, None] * _sizes(counts.shape[3], positions)
                seen = wide.reshape(*wide.shape[:2], -1)
                met = _by_lane(weights @ (seen > 0).astype(np.float32), width, lanes.count)
                pairs = _by_lane(weights @ (seen / sizes.reshape(-1)).astype(np.float32), width, lanes.count)
                sides = counts.shape[2] / lines, counts.shape[3] / positions
                yield self._tiles(sides, fullest, met, pairs, lanes.depth)

    def _tiles(self, sides: tuple[float, float], fullest: Floats, met: Floats, pairs: Floats, depth: int) -> _Tiles:
        """The slowest lane of each panel and tile, from arrays [panels, lanes, tiles]; a lane has `depth` places."""
        rows = sides[0] * sides[1]
        passing = rows * (pairs if self.chip.map_caches == "before" else met)
        loads = np.ceil(met / depth)
        longest = np.argmax(load_cycles(self.chip) * loads + passing / depth, axis=1)[:, None]
        pairs, loads = (np.take_along_axis(of_lanes, longest, axis=1).sum(axis=(0, 1)) for of_lanes in (pairs, loads))
        most = met.max(axis=1)
        return _Tiles(*sides, pairs, most, loads, float(fullest.sum()), float(np.ceil(fullest / depth).sum()))


@dataclass(frozen=True)
class _Tiles:
    """
    The work for one part of the inputs, for tiles of a number of lines and places; arrays are by tile, and are sums
    over all panels.
    """

    lines: float
    positions: float
    pairs: Floats
    met: Floats
    """[panels, tiles] for each panel separately."""
    loads: Floats
    fullest: float
    """Stored weights of the fullest lanes."""
    full_loads: float


_BY_TILE = ("pairs", "met", "loads")
"""Arrays of `_Tiles`."""


def _by_lane(work: Floats, width: int, lanes: int) -> Floats:
    """[panels, lanes, tiles] the sum over the neurons of a lane; `work` is [groups, outputs, tiles]."""
    groups, outputs, tiles = work.shape
    panels, rounds = -(-outputs // width), -(-width // lanes)
    padded = np.zeros((groups, panels * width, tiles), work.dtype)
    padded[:, :outputs] = work
    rows = np.zeros((groups * panels, rounds * lanes, tiles), work.dtype)
    rows[:, :width] = padded.reshape(groups * panels, width, tiles)
    return rows.reshape(groups * panels, rounds, lanes, tiles).sum(axis=1)


def _cuts(size: int, most: int) -> list[int]:
    """Numbers of tiles that a side is cut into: for tiles of 1, then of powers of 2; at most `most` tiles."""
    powers = [1 << power for power in reversed(range((size - 1).bit_length()))]
    return [cuts for cuts in (size, *powers) if cuts <= most]


def _starts(size: int, cuts: int) -> NDArray[np.int64]:
    """Starts of tiles, as `split_evenly` cuts them."""
    return np.arange(cuts) * size // cuts


def _sizes(size: int, cuts: int) -> NDArray[np.int64]:
    return np.diff(_starts(size, cuts), append=size)


def _joined(sums: NDArray[np.int32], axis: int, cuts: int, size: int) -> NDArray[np.int32]:
    """Sums of tiles along an axis, merged to sums of fewer tiles; each is a union of the previous ones."""
    before = _starts(size, sums.shape[axis])
    return np.add.reduceat(sums, np.searchsorted(before, _starts(size, cuts)), axis=axis)
