"""Cycles of the network-on-chip to send the tiles of a distributed value to the cores that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.dataflow.tiling import Box
from ...support.records import lazy, quick_init
from .traffic_kernel import busiest, missing

LINK_EFFICIENCY = 0.85
"""
The share of its bandwidth that the busiest link reaches, since messages wait for each other on the links before it.
"""
MESSAGE_CYCLES = 8
"""Fixed cycles of a sender for a message."""


@dataclass(frozen=True)
class Traffic:
    """The load of an exchange on the busiest sender, receiver and link."""

    sent: int
    """Bytes that leave the busiest sender; equal parts for several receivers count once."""
    received: int
    """Bytes that reach the busiest receiver."""
    messages: int
    """Messages of the busiest sender."""
    crossing: int
    """Bytes over the busiest link between two routers."""

    def cycles(self, chip: Chip) -> float:
        """Cycles of the exchange on an idle network."""
        busiest = max(self.sent, self.received, self.crossing / LINK_EFFICIENCY)
        return busiest / chip.link_bytes_per_cycle + self.messages * MESSAGE_CYCLES


@quick_init
@dataclass(frozen=True)
class Overlaps:
    """All pairs of a holder and a reader whose boxes have positions in common, readers in order."""

    holders: NDArray[np.int64]
    """[pairs] core"""
    readers: NDArray[np.int64]
    low: NDArray[np.int64]
    """[pairs, rank] first common position"""
    high: NDArray[np.int64]
    """[pairs, rank] one past the last"""

    @property
    def volumes(self) -> NDArray[np.int64]:
        """[pairs] number of common positions."""
        return (self.high - self.low).prod(axis=-1)

    def taken(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Overlaps:
        """Some of the pairs."""
        return Overlaps(self.holders[which], self.readers[which], self.low[which], self.high[which])


@quick_init
@dataclass(frozen=True)
class BoxArrays:
    """Boxes of cores as arrays."""

    cores: NDArray[np.int64]
    """[boxes]"""
    low: NDArray[np.int64]
    """[boxes, rank] first positions"""
    high: NDArray[np.int64]
    """[boxes, rank] one past the last"""

    @lazy
    def row_of(self) -> NDArray[np.int64]:
        """By core, its row; -1: it has no box. Cores after the last one with a box are omitted."""
        rows = np.full(self.cores.max(initial=-1) + 1, -1)
        rows[self.cores] = np.arange(len(self.cores))
        return rows

    @staticmethod
    def of(boxes: Mapping[int, Box]) -> BoxArrays:
        """The boxes as arrays, in the order of `boxes`."""
        low = rows_of([box.offsets for box in boxes.values()])
        return BoxArrays(
            np.fromiter(boxes, np.int64, len(boxes)), low, low + rows_of([b.sizes for b in boxes.values()])
        )


def rows_of(rows: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """[rows, rank] as an array."""
    rank = len(rows[0]) if rows else 0
    return np.fromiter(chain.from_iterable(rows), np.int64, rank * len(rows)).reshape(len(rows), rank)


def overlaps(there: BoxArrays, here: BoxArrays) -> Overlaps:
    """The intersections of the boxes that are held `there` and those needed `here`."""
    meet = np.ones((len(here.low), len(there.low)), np.bool_)
    for dim in range(here.low.shape[1]):
        top = np.minimum(here.high[:, dim, None], there.high[None, :, dim])
        meet &= top > np.maximum(here.low[:, dim, None], there.low[None, :, dim])
    readers, holders = np.nonzero(meet)
    low, high = np.maximum(here.low[readers], there.low[holders]), np.minimum(here.high[readers], there.high[holders])
    return Overlaps(there.cores[holders], here.cores[readers], low, high)


def most_missing(held: BoxArrays, needed: BoxArrays) -> tuple[int, bool]:
    """
    (Largest number of positions of a box in `needed` that its core does not hold itself; whether some core holds no box
    at all)
    """
    return missing(held.row_of, held.low, held.high, needed.cores, needed.low, needed.high)


def exchange_traffic(held: BoxArrays, needed: BoxArrays, item_bytes: int, chip: Chip) -> Traffic:
    """Traffic of sending every core of `needed` the missing part of its box."""
    if not len(held.cores) or not len(needed.cores):
        return Traffic(0, 0, 0, 0)
    sent, received, messages, crossing = busiest(
        held.low, held.high, held.cores, needed.low, needed.high, needed.cores, chip.rows, chip.cols
    )
    return Traffic(sent * item_bytes, received * item_bytes, messages, crossing * item_bytes)
