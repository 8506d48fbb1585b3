"""The fusion of least cost, by dynamic programming over the serial list."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .fusion import Compiles, Interval, Trials


@dataclass(frozen=True)
class FuseOptimal:
    """
    The partition whose intervals have the least total cost (such as emulated cycles), among equal ones the one of
    fewest intervals.

    Compiles intervals of up to `longest` subgraphs, single ones included: n (n + 1) / 2 of them without a limit. An
    interval that begins with one that failed is not tried if `failures_spread` (an interval that does not fit does not
    fit with more subgraphs either).
    """

    longest: int | None = None
    failures_spread: bool = True

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        best: list[tuple[float, int]] = [(0.0, 0)] + [(math.inf, 0)] * count
        before = list(range(-1, count))
        for start in range(count):
            limit = count if self.longest is None else min(count, start + self.longest)
            for stop in range(start + 1, limit + 1):
                outcome = trials(start, stop)
                if outcome.cost is None:
                    if self.failures_spread and stop > start + 1:
                        break
                    continue
                total = (best[start][0] + outcome.cost, best[start][1] + 1)
                if total < best[stop]:
                    best[stop], before[stop] = total, start
        targets: list[Interval] = []
        stop = count
        while stop > 0:
            targets.append((before[stop], stop))
            stop = before[stop]
        return targets[::-1]
