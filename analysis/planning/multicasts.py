"""
Conversion of pairwise transfers between cores to messages, in which equal data for several receivers are sent once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tasks.number_rows import number_rows
from .traffic import Overlaps
from .transfers import Transfers


def multicasts(pairs: Overlaps, positions: NDArray[np.int64], item_bytes: int) -> tuple[Transfers, NDArray[np.int64]]:
    """
    The messages, and the first pair of each, which determines their order.

    `positions`: [pairs, any] numbers that identify the address of the common part in the reader's memory. Readers with
    equal numbers get equal parts of a holder by one message.
    """
    rows = np.concatenate([pairs.holders[:, None], pairs.low, pairs.high, positions], axis=1)
    message, count = number_rows(rows)
    order = np.argsort(message, kind="stable")
    first = np.searchsorted(message[order], np.arange(count + 1))
    leaders = order[first[:-1]]
    nbytes = pairs.volumes[leaders] * item_bytes
    return Transfers(pairs.holders[leaders], nbytes, first, pairs.readers[order]), leaders
