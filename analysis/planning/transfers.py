"""Messages between cores as arrays, since an exchange among hundreds of cores has tens of thousands of messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Transfers:
    """Messages, each of the same bytes from one core to one or several others."""

    senders: NDArray[np.int64]
    """[messages] core"""
    nbytes: NDArray[np.int64]
    """[messages]"""
    first: NDArray[np.int64]
    """[messages + 1] offset of the receivers of each, and their end."""
    receivers: NDArray[np.int64]
    """Cores, message after message; each message has at least one."""

    def __len__(self) -> int:
        return len(self.senders)

    @staticmethod
    def of(messages: Iterable[tuple[int, Sequence[int], int]]) -> Transfers:
        """Messages as (sender, receivers, bytes)."""
        rows = list(messages)
        receivers = list(chain.from_iterable(row[1] for row in rows))
        return Transfers(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.int64),
            np.cumsum([0, *(len(row[1]) for row in rows)], dtype=np.int64),
            np.array(receivers, np.int64),
        )

    @staticmethod
    def joined(parts: Sequence[Transfers]) -> Transfers:
        """The messages of several transfers, concatenated."""
        if len(parts) == 1:
            return parts[0]
        counts = [np.diff(part.first) for part in parts]
        return Transfers(
            np.concatenate([part.senders for part in parts]),
            np.concatenate([part.nbytes for part in parts]),
            np.concatenate([np.zeros(1, np.int64), *counts]).cumsum(),
            np.concatenate([part.receivers for part in parts]),
        )

    def ordered(self, order: NDArray[np.int64]) -> Transfers:
        """The messages in the order of these numbers."""
        counts = np.diff(self.first)[order]
        first = np.concatenate([np.zeros(1, np.int64), counts.cumsum()])
        positions = np.arange(len(self.receivers)) + np.repeat(self.first[order] - first[:-1], counts)
        return Transfers(self.senders[order], self.nbytes[order], first, self.receivers[positions])

    @cached_property
    def messages(self) -> NDArray[np.int64]:
        """The message of each entry of `receivers`."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @property
    def most_sent(self) -> int:
        """Bytes that the busiest sender sends."""
        return _most(self.senders, self.nbytes)

    @property
    def most_received(self) -> int:
        """Bytes that the busiest receiver gets."""
        return _most(self.receivers, self.nbytes[self.messages])


def _most(cores: NDArray[np.int64], nbytes: NDArray[np.int64]) -> int:
    """The largest sum over the cores."""
    sums = np.zeros(int(cores.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, cores, nbytes)
    return int(sums.max(initial=0))
