"""Fusion from the front (spec 2, S61 to S64 and S71 to S74)."""

from __future__ import annotations

from dataclasses import dataclass

from .fusion import Compiles, Interval, Trials


@dataclass(frozen=True)
class FuseForward:
    """
    Fuse the current subgraph with the next. If that fails, the current one is unchanged and the next becomes current;
    if it compiles, the two are a target and the one after next is current.
    """

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        targets: list[Interval] = []
        current = 0
        while current < count:
            size = 2 if current + 1 < count and trials(current, current + 2).compiled else 1
            targets.append((current, current + size))
            current += size
        return targets


@dataclass(frozen=True)
class FuseForwardGrowing:
    """As `FuseForward`, but a fused subgraph is fused with the next again, until that fails."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        targets: list[Interval] = []
        start, stop = 0, 1
        while start < count:
            if stop < count and trials(start, stop + 1).compiled:
                stop += 1
                continue
            targets.append((start, stop))
            start, stop = stop, stop + 1
        return targets
