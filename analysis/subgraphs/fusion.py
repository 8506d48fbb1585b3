"""
The interface of strategies that fuse neighbours of a serial list of subgraphs (spec 2, "Fusing").

A strategy is given the number of subgraphs and a function that compiles those from `start` to `stop` as one; it returns
the intervals that become target subgraphs. Every candidate is compiled at most once. Each single subgraph is known to
compile, so a strategy that only needs to know whether candidates compile never requests a single one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Interval: TypeAlias = tuple[int, int]
"""Subgraphs `start` to `stop` (exclusive) of the serial list, as one."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of compiling a candidate: its cost (such as emulated cycles), or None and the reason."""

    cost: float | None
    reason: str = ""

    @property
    def compiled(self) -> bool:
        """Whether there is an executable."""
        return self.cost is not None


Compiles: TypeAlias = Callable[[int, int], Outcome]
"""Compile subgraphs `start` to `stop` (exclusive) as one."""


class FusionStrategy(Protocol):
    """A strategy for fusing neighbours."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        """Consecutive intervals from 0 to `count`; those of more than one subgraph have compiled."""
        ...


@dataclass
class Trials:
    """Compiles each candidate once and caches the result; `log` keeps the order."""

    compiles: Compiles
    log: list[tuple[Interval, Outcome]] = field(default_factory=list[tuple[Interval, Outcome]])
    _known: dict[Interval, Outcome] = field(default_factory=dict[Interval, Outcome])

    def __call__(self, start: int, stop: int) -> Outcome:
        known = self._known.get((start, stop))
        if known is None:
            known = self._known[start, stop] = self.compiles(start, stop)
            self.log.append(((start, stop), known))
        return known


@dataclass(frozen=True)
class FuseNothing:
    """Every subgraph stays as it is."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        return [(number, number + 1) for number in range(count)]
