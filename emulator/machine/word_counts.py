"""Execution counts of the words of a core, as far as they do not depend on values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .expand import LEAVE, LOOP, LOOP_BY, Code


@dataclass(frozen=True)
class WordCounts:
    """Execution counts of the words of one core."""

    times: NDArray[np.int64]
    """Number of executions of each word; of words in a dynamic loop, per iteration of that loop."""
    dynamic: NDArray[np.bool_]
    """Whether a word is in a dynamic loop."""


def word_counts(code: Code, core: int) -> WordCounts:
    """The counts of a core, from the loops of its program."""
    base, length = int(code.base[core]), int(code.length[core])
    kind, address = code.kind[base : base + length], code.address[base : base + length]
    times, dynamic = np.ones(length, np.int64), np.zeros(length, np.bool_)
    loops = np.flatnonzero((kind == LOOP) | (kind == LOOP_BY)).tolist()
    bodies = [(at + 1, at + 1 + int(address[at, 1])) for at in loops]
    by_value = {number for number, at in enumerate(loops) if kind[at] == LOOP_BY}
    for at in np.flatnonzero(kind == LEAVE).tolist():
        # Of the enclosing loops, the innermost begins last.
        by_value.update([number for number, (low, high) in enumerate(bodies) if low <= at < high][-1:])
    for number, (low, high) in enumerate(bodies):
        if number in by_value:
            dynamic[low:high] = True
        else:
            times[low:high] *= max(0, int(address[loops[number], 0]))
    return WordCounts(times, dynamic)
