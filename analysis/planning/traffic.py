"""How long the network-on-chip needs to bring the parts of a spread value to the cores that read them."""

from __future__ import annotations

from collections.abc import Mapping
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


def exchange_traffic(held: Mapping[int, Box], needed: Mapping[int, Box], item_bytes: int, chip: Chip) -> Traffic:
    """Traffic of sending every core of `needed` what it does not hold of its box."""
    senders, receivers = _cores(held), _cores(needed)
    low = np.maximum(_offsets(held)[:, None], _offsets(needed)[None])
    high = np.minimum(_ends(held)[:, None], _ends(needed)[None])
    volume = np.maximum(high - low, 0).prod(axis=-1) * item_bytes
    volume[senders[:, None] == receivers[None]] = 0
    rows, columns = np.nonzero(volume)
    if not len(rows):
        return Traffic(0, 0, 0, 0)
    sizes = volume[rows, columns]
    received = np.bincount(columns, sizes).max()
    # Equal parts of one sender for several receivers travel as one multicast.
    parts = np.concatenate([rows[:, None], low[rows, columns], high[rows, columns]], axis=1)
    _, first, inverse = np.unique(parts, axis=0, return_index=True, return_inverse=True)
    sender = rows[first]
    sent = np.bincount(sender, sizes[first]).max()
    messages = np.bincount(sender).max()
    y, x = receivers[columns] // chip.cols, receivers[columns] % chip.cols
    hops = np.abs(y - senders[rows] // chip.cols) + np.abs(x - senders[rows] % chip.cols)
    # A multicast uses a link once: at least as many links as it has receivers, never more than separate messages.
    fan_out = np.bincount(inverse.reshape(-1))
    total_hops = np.bincount(inverse.reshape(-1), hops)
    links = np.minimum(total_hops, np.maximum(fan_out, total_hops / np.maximum(fan_out, 1)))
    return Traffic(int(sent), int(received), int(messages), int((links * sizes[first]).sum()))


def _cores(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.fromiter(boxes, np.int64, len(boxes))


def _offsets(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.array([box.offsets for box in boxes.values()], np.int64).reshape(len(boxes), -1)


def _ends(boxes: Mapping[int, Box]) -> NDArray[np.int64]:
    return np.array([box.ends for box in boxes.values()], np.int64).reshape(len(boxes), -1)
