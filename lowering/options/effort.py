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
    With estimates, nothing is emulated but the stages of a network on several chips, whose times are in what is
    written.
    """
    orders: int
    """Orders of tasks that are searched (spec 3), each from another seed, beside the order of the program."""
    placements: tuple[str, ...]
    """Ways to place tiles (`analysis.placement.methods`), the first for every plan, the others for the best."""
    prune_ratio: float
    """
    A variant is compiled if its estimate is at most so many times the least: bench/effort.py says which variants that
    leaves out.
    """
    method: str = "default"
    """Of searching orders."""
    greedy_prune_ratio: float = 0.99
    """Tiles placed by `greedy` are compiled if their estimate is at most so many times that of the best before."""
    of_best: float = 1.004
    """
    Tiles placed for few bytes x hops (`analysis.placement.methods.HOPS`) are compiled if their estimate is at most so
    many times that of the best before; where one of these takes no fewer cycles, the next are not even mapped.
    """
    sufficient_cycles: float = 0.0
    """The first variant of a part that takes at most so many cycles is taken, and no other is tried."""


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
    """Orders of tasks: as they are, or beside that those that are searched, by default or by a method's name."""
    return (PROGRAM, SEARCHED, *(name for name in order_methods() if name not in (PROGRAM, "default")))


class EffortTexts(TypedDict):
    """As the passes take them."""

    effort: str
    order: str
    stop_at: Number | None
    placement: str


@dataclass(frozen=True, kw_only=True)
class EffortOptions:
    """What passes that compile parts are told about the effort, as `meshloom-compile` is."""

    effort: str = "default"
    order: str = SEARCHED
    stop_at: Number | None = None
    placement: str = SEARCHED

    def how(self) -> EffortTexts:
        """The options, for another pass that takes them."""
        return {"effort": self.effort, "order": self.order, "stop_at": self.stop_at, "placement": self.placement}

    def read_effort(self) -> Effort:
        """What they stand for. Raises InputError for what makes no sense."""
        return with_placement(with_order(find_effort(self.effort), self.order, self.stop_at), self.placement)


def find_effort(name: str) -> Effort:
    """The effort of a name. Raises InputError for another one."""
    if name not in EFFORTS:
        raise InputError(f"no effort is named '{name}': choose from {', '.join(EFFORTS)}")
    return EFFORTS[name]


def with_order(effort: Effort, order: str = SEARCHED, stop_at: Number | None = None) -> Effort:
    """
    The effort with orders by a name of `orders`, where the first variant of at most `stop_at` cycles is enough.

    Raises InputError for another name, and for a number that is none.
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
    The effort with tiles placed by a method alone, a name of `PLACE_METHODS`; with `searched`, several are tried.

    Raises InputError for another name.
    """
    placements = (SEARCHED, *PLACE_METHODS)
    if placement not in placements:
        raise InputError(f"no placement is named '{placement}': choose from {', '.join(placements)}")
    return effort if placement == SEARCHED else replace(effort, placements=(placement,))
