"""How long the network-on-chip needs to bring the parts of a spread value to the cores that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.dataflow.tiling import Box

LINK_EFFICIENCY = 0.5
"""Of the bandwidth of all links that traffic with contention reaches."""
MESSAGE_CYCLES = 8
"""A sender's time for a message beside its bytes."""


@dataclass(frozen=True)
class Traffic:
    """What an exchange loads the busiest parts of the chip with."""

    sent: int
    """Bytes that leave the busiest sender; equal parts for several receivers count once."""
    received: int
    """Bytes that reach the busiest receiver."""
    messages: int
    """Messages of the busiest sender."""
    byte_hops: int
    """Bytes times links, over all messages."""

    def cycles(self, chip: Chip) -> float:
        """Time of the exchange if nothing else uses the network."""
        links = 2 * (chip.rows * (chip.cols - 1) + chip.cols * (chip.rows - 1))
        spread = self.byte_hops / max(1, links) / LINK_EFFICIENCY
        return max(self.sent, self.received, spread) / chip.link_bytes_per_cycle + self.messages * MESSAGE_CYCLES


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

    def __iter__(self) -> Iterator[tuple[int, int, Box]]:
        """(holder, reader, common box) of each pair."""
        holders: list[int] = self.holders.tolist()
        readers: list[int] = self.readers.tolist()
        low: list[list[int]] = self.low.tolist()
        sizes: list[list[int]] = (self.high - self.low).tolist()
        for holder, reader, offsets, extent in zip(holders, readers, low, sizes, strict=True):
            yield holder, reader, Box(tuple(offsets), tuple(extent))


def overlaps(held: Mapping[int, Box], needed: Mapping[int, Box]) -> Overlaps:
    """Where the boxes of `held` and of `needed` meet."""
    low = np.maximum(_offsets(held)[None], _offsets(needed)[:, None])
    high = np.minimum(_ends(held)[None], _ends(needed)[:, None])
    readers, holders = np.nonzero((high > low).all(axis=-1))
    return Overlaps(_cores(held)[holders], _cores(needed)[readers], low[readers, holders], high[readers, holders])


def most_missing(held: Mapping[int, Box], needed: Mapping[int, Box]) -> int:
    """Positions of its box in `needed` that a core does not hold itself, of the core that lacks most."""
    if not needed:
        return 0
    low, high = _offsets(needed), _ends(needed)
    empty = Box((0,) * low.shape[1], (0,) * low.shape[1])
    own = {core: held.get(core, empty) for core in needed}
    common = np.minimum(high, _ends(own)) - np.maximum(low, _offsets(own))
    return int(((high - low).prod(axis=1) - np.maximum(common, 0).prod(axis=1)).max())


def exchange_traffic(held: Mapping[int, Box], needed: Mapping[int, Box], item_bytes: int, chip: Chip) -> Traffic:
    """Traffic of sending every core of `needed` what it does not hold of its box."""
    pairs = overlaps(held, needed)
    away = pairs.holders != pairs.readers
    if not away.any():
        return Traffic(0, 0, 0, 0)
    holders, readers = pairs.holders[away], pairs.readers[away]
    sizes = pairs.volumes[away] * item_bytes
    received = np.bincount(readers, sizes).max()
    # Equal parts of one sender for several receivers travel as one multicast.
    parts = np.concatenate([holders[:, None], pairs.low[away], pairs.high[away]], axis=1)
    first, inverse = _distinct(parts)
    sender = holders[first]
    sent = np.bincount(sender, sizes[first]).max()
    messages = np.bincount(sender).max()
    y, x = readers // chip.cols, readers % chip.cols
    hops = np.abs(y - holders // chip.cols) + np.abs(x - holders % chip.cols)
    # A multicast uses a link once: at least as many links as it has receivers, never more than separate messages.
    fan_out = np.bincount(inverse)
    total_hops = np.bincount(inverse, hops)
    links = np.minimum(total_hops, np.maximum(fan_out, total_hops / np.maximum(fan_out, 1)))
    return Traffic(int(sent), int(received), int(messages), int((links * sizes[first]).sum()))


def _distinct(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(index of the first of each set of equal rows, set of each row)."""
    key = np.zeros(len(rows), np.int64)
    for column in rows.T:  # row-major numbers within the columns' ranges, renumbered as they grow
        _, rank = np.unique(column, return_inverse=True)
        _, key = np.unique(key * (int(rank.max()) + 1) + rank, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    return first, key


def _cores(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.fromiter(boxes, np.int64, len(boxes))


def _offsets(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.array([box.offsets for box in boxes.values()], np.int64).reshape(len(boxes), -1)


def _ends(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.array([box.ends for box in boxes.values()], np.int64).reshape(len(boxes), -1)
