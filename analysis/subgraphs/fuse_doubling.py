"""Fusion of a long list from the front in few trials."""

from __future__ import annotations

from dataclasses import dataclass

from .fusion import Compiles, Interval, Trials


@dataclass(frozen=True)
class FuseForwardDoubling:
    """
    As `FuseForwardGrowing`, but each time a subgraph grows by twice as many of the following subgraphs as before, until
    that fails, and then by half as many each time.
    """

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        targets: list[Interval] = []
        start = 0
        while start < count:
            stop, stride, doubling = start + 1, 1, True
            while stop < count and stride:
                further = min(stop + stride, count)
                if trials(start, further).compiled:
                    stop = further
                else:
                    doubling = False
                stride = stride * 2 if doubling else stride // 2
            targets.append((start, stop))
            start = stop
        return targets
