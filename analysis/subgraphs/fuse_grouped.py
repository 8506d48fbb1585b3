"""Fusion in groups (spec 2, S51 to S54): plain pairs, or groups whose sums are within bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .fusion import Compiles, Interval, Trials


@dataclass(frozen=True)
class PartSize:
    """The sizes of a subgraph that have bounds."""

    computation: int
    """Multiply-accumulates."""
    weight_bytes: int
    mapped_nodes: int
    """Nodes of the graph that is mapped to the hardware: tasks."""


Range = tuple[float, float]
"""Lower and upper bound, both included."""
ANY: Range = (0.0, math.inf)


@dataclass(frozen=True)
class GroupBounds:
    """Bounds on the sums of a group."""

    computation: Range = ANY
    weight_bytes: Range = ANY
    mapped_nodes: Range = ANY

    def allow(self, parts: Sequence[PartSize]) -> bool:
        """Whether all sums lie within the bounds."""
        return all(low <= amount <= high for amount, (low, high) in self._sums(parts))

    def exceeded(self, parts: Sequence[PartSize]) -> bool:
        """Whether a sum is above its bound: then more parts cannot satisfy it."""
        return any(amount > high for amount, (_, high) in self._sums(parts))

    def _sums(self, parts: Sequence[PartSize]) -> list[tuple[int, Range]]:
        return [
            (sum(part.computation for part in parts), self.computation),
            (sum(part.weight_bytes for part in parts), self.weight_bytes),
            (sum(part.mapped_nodes for part in parts), self.mapped_nodes),
        ]


@dataclass(frozen=True)
class FuseGrouped:
    """
    Groups within the bounds, found in the order of execution, each as large as the bounds allow; subgraphs that fit no
    group stay alone. A group of three or more that does not compile is tried without its last one, which then begins
    the next group; a pair that does not compile is not fused.
    """

    parts: tuple[PartSize, ...]
    bounds: GroupBounds = GroupBounds()

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        if len(self.parts) != count:
            raise ValueError(f"{len(self.parts)} sizes are given for {count} subgraphs: expected one each")
        trials = Trials(compiles)
        targets: list[Interval] = []
        start = 0
        while start < count:
            stop = next((stop for stop in self._groups(start) if trials(start, stop).compiled), start + 1)
            targets.append((start, stop))
            start = stop
        return targets

    def _groups(self, start: int) -> list[int]:
        """Ends of the largest group from `start` on that the bounds allow, and of its smaller alternatives."""
        largest = start
        for stop in range(start + 2, len(self.parts) + 1):
            group = self.parts[start:stop]
            if self.bounds.exceeded(group):
                break
            if self.bounds.allow(group):
                largest = stop
        return list(range(largest, start + 1, -1))


@dataclass(frozen=True)
class FusePairs:
    """The first with the second, the third with the fourth and so on."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        targets: list[Interval] = []
        for start in range(0, count, 2):
            stop = min(start + 2, count)
            if stop - start == 2 and not trials(start, stop).compiled:
                targets += [(start, start + 1), (start + 1, stop)]
            else:
                targets.append((start, stop))
        return targets
