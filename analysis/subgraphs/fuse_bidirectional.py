"""Fusion from the front and from the end at the same time, until both meet (spec 2, S81 to S84)."""

from __future__ import annotations

from dataclasses import dataclass

from .fusion import Compiles, Interval, Trials


@dataclass(frozen=True)
class FuseBidirectional:
    """
    One step from the front, one from the end, in turn. Two neighbours that compile as one are a target; if they do not,
    the earlier one (from the front) or the later one (from the end) is unchanged and the other becomes current.
    """

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        front: list[Interval] = []
        back: list[Interval] = []
        low, high = 0, count  # the subgraphs between them are undecided
        while low < high:
            size = 2 if high - low >= 2 and trials(low, low + 2).compiled else 1
            front.append((low, low + size))
            low += size
            if low < high:
                size = 2 if high - low >= 2 and trials(high - 2, high).compiled else 1
                back.append((high - size, high))
                high -= size
        return front + back[::-1]


@dataclass(frozen=True)
class FuseBidirectionalGrowing:
    """As `FuseBidirectional`, but a fused subgraph continues to grow; where both ends meet, they are tried as one."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        trials = Trials(compiles)
        front: list[Interval] = []
        back: list[Interval] = []
        if count == 0:
            return []
        early, late = (0, 1), (count - 1, count)
        while early[1] < late[0]:
            early = _grow(trials, front, early, (early[0], early[1] + 1), (early[1], early[1] + 1))
            if early[1] < late[0]:
                late = _grow(trials, back, late, (late[0] - 1, late[1]), (late[0] - 1, late[0]))
        if count > 1 and not trials(early[0], late[1]).compiled:
            return [*front, early, late, *back[::-1]]
        return [*front, (early[0], late[1]), *back[::-1]]


def _grow(trials: Trials, done: list[Interval], current: Interval, fused: Interval, other: Interval) -> Interval:
    """The fused candidate if it compiles; else the current one is final and the other continues."""
    if trials(*fused).compiled:
        return fused
    done.append(current)
    return other
