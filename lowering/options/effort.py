"""Effort of the search: the values of `--effort`, in one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from ...analysis.placement.methods import MAPPED, PLACE_METHODS
from ...analysis.search import Measure
from ...support.errors import InputError
from ...transforms.shared.options import Number, positive
from ...transforms.shared.task_order import order_methods


@dataclass(frozen=True)
class Effort:
    """The variants that are tried for each subgraph, and how they are compared."""

    measure: Measure
    """
    How cycles are determined. With estimates, only the stages of a network on several chips are emulated, since their
    times are part of the output.
    """
    orders: int
    """Number of orders of tasks that are searched (spec 3), each from another seed, in addition to program order."""
    placements: tuple[str, ...]
    """Placement methods (`analysis.placement.methods`): the first for every plan, the others for the best plan."""
    prune_ratio: float
    """
    A variant is compiled if its estimate is at most this ratio times the least; bench/effort.py shows the variants that
    this excludes.
    """
    method: str = "default"
    """Method of the order search."""
    greedy_prune_ratio: float = 0.99
    """
    A placement by `greedy` is compiled if its estimate is at most this ratio times that of the best variant so far.
    """
    of_best: float = 1.012
    """
    Another placement or prefetch policy is compiled if its estimate is at most this ratio times that of the best
    variant so far. If a placement for few bytes x hops (`analysis.placement.methods.HOPS`) takes no fewer cycles, the
    next of these methods are skipped.
    """
    sufficient_cycles: float = 0.0
    """The first variant of a subgraph that takes at most this many cycles is taken, and no other is tried."""


EFFORTS: dict[str, Effort] = {
    "fast": Effort("estimated", 1, ("default",), 1.0),
    "default": Effort("emulated", 1, ("default", "row-major", "relaxed", "greedy", "matched", "hops", "literal"), 1.03),
    "high": Effort(
        "emulated",
        8,
        ("default", "row-major", "relaxed", "anneal", "greedy", "matched", *MAPPED),
        1.25,
        greedy_prune_ratio=1.25,
        of_best=1.25,
    ),
}


PROGRAM, SEARCHED = "program", "searched"


def orders() -> tuple[str, ...]:
    """The orders of tasks: program order, or also searched ones, by the default method or a named one."""
    return (PROGRAM, SEARCHED, *(name for name in order_methods() if name not in (PROGRAM, "default")))


class EffortTexts(TypedDict):
    """The options of the effort as texts, as passes take them."""

    effort: str
    order: str
    stop_at: Number | None
    placement: str


@dataclass(frozen=True, kw_only=True)
class EffortOptions:
    """The options of the effort of passes that compile subgraphs, as of `meshloom-compile`."""

    effort: str = "default"
    order: str = SEARCHED
    stop_at: Number | None = None
    placement: str = SEARCHED

    def how(self) -> EffortTexts:
        """The options, to pass them on to another pass."""
        return {"effort": self.effort, "order": self.order, "stop_at": self.stop_at, "placement": self.placement}

    def read_effort(self) -> Effort:
        """The effort that options specify. Raises InputError for values that are not valid."""
        return with_placement(with_order(find_effort(self.effort), self.order, self.stop_at), self.placement)


def find_effort(name: str) -> Effort:
    """The effort by name. Raises InputError for an unknown name."""
    if name not in EFFORTS:
        raise InputError(f"no effort is named '{name}': choose from {', '.join(EFFORTS)}")
    return EFFORTS[name]


def with_order(effort: Effort, order: str = SEARCHED, stop_at: Number | None = None) -> Effort:
    """
    The effort with orders by a name of `orders`, where the first variant of at most `stop_at` cycles is taken.

    Raises InputError for an unknown name, and for a number that is not valid.
    """
    if order not in orders():
        raise InputError(f"no order is named '{order}': choose from {', '.join(orders())}")
    if order == PROGRAM:
        effort = replace(effort, orders=0)
    method = order if order in order_methods() else "default"
    sufficient_cycles = 0.0 if stop_at is None else positive("stop-at", stop_at)
    return replace(effort, method=method, sufficient_cycles=sufficient_cycles)


def with_placement(effort: Effort, placement: str = SEARCHED) -> Effort:
    """
    The effort with a single placement method, a name of `PLACE_METHODS`; with `searched`, several are tried.

    Raises InputError for an unknown name.
    """
    placements = (SEARCHED, *PLACE_METHODS)
    if placement not in placements:
        raise InputError(f"no placement is named '{placement}': choose from {', '.join(placements)}")
    return effort if placement == SEARCHED else replace(effort, placements=(placement,))
