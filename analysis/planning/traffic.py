"""How long the network-on-chip needs to bring the parts of a spread value to the cores that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.dataflow.tiling import Box

LINK_EFFICIENCY = 0.85
"""Of its bandwidth that the busiest link reaches, since messages wait for each other on their way to it."""
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
    crossing: int
    """Bytes over the busiest link between two routers."""

    def cycles(self, chip: Chip) -> float:
        """Time of the exchange if nothing else uses the network."""
        busiest = max(self.sent, self.received, self.crossing / LINK_EFFICIENCY)
        return busiest / chip.link_bytes_per_cycle + self.messages * MESSAGE_CYCLES


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
    low, high, from_low, from_high = _offsets(needed), _ends(needed), _offsets(held), _ends(held)
    meet = np.ones((len(low), len(from_low)), np.bool_)
    for dim in range(low.shape[1]):
        top = np.minimum(high[:, dim, None], from_high[None, :, dim])
        meet &= top > np.maximum(low[:, dim, None], from_low[None, :, dim])
    readers, holders = np.nonzero(meet)
    common = np.maximum(low[readers], from_low[holders]), np.minimum(high[readers], from_high[holders])
    return Overlaps(_cores(held)[holders], _cores(needed)[readers], *common)


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
    crossing = _busiest_link(sender, sizes[first], inverse, readers, chip)
    return Traffic(int(sent), int(received), int(messages), crossing)


def _busiest_link(
    senders: NDArray[np.int64],
    sizes: NDArray[np.int64],
    message: NDArray[np.int64],
    readers: NDArray[np.int64],
    chip: Chip,
) -> int:
    """
    Bytes over the busiest link between routers, of messages from `senders` of `sizes`; `message` of each of `readers`.

    Routes go along the row first; a multicast uses each link of its tree once. A tree is one range of links to the
    east and one to the west in the sender's row, and one to the north and one to the south in each column with readers.
    """
    y, x = np.divmod(senders, chip.cols)
    to_y, to_x = np.divmod(readers, chip.cols)
    lowest, highest = x.copy(), x.copy()
    np.minimum.at(lowest, message, to_x)
    np.maximum.at(highest, message, to_x)
    branches, branch = np.unique(message * chip.cols + to_x, return_inverse=True)
    of, column = np.divmod(branches, chip.cols)
    start = y[of]
    top, bottom = start.copy(), start.copy()
    np.minimum.at(top, branch, to_y)
    np.maximum.at(bottom, branch, to_y)
    return max(
        _most(y, x, highest, sizes, chip), _most(y, lowest, x, sizes, chip),
        _most(column, start, bottom, sizes[of], chip), _most(column, top, start, sizes[of], chip),
    )  # fmt: skip


def _most(
    line: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], sizes: NDArray[np.int64], chip: Chip
) -> int:
    """The largest sum of `sizes` at any place of a line, of ranges from `low` to before `high` on lines."""
    length = max(chip.rows, chip.cols) + 1
    change = np.bincount(line * length + low, sizes, length * length)
    change -= np.bincount(line * length + high, sizes, length * length)
    return int(change.reshape(length, length).cumsum(axis=1).max(initial=0))


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
