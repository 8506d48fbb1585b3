"""The interface of all searches for orders: the cost of an order, the effort, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Protocol

from ..cost_graphs.graph import Ints
from .bounds import unit_bound
from .problem import OrderProblem
from .simulate import INFEASIBLE, makespan_of

PLAIN = 3000
"""Overhead of an order that is tried from Python, in steps."""


class OrderCost(Protocol):
    """The cost of orders: the part of a model that searches use."""

    @property
    def problem(self) -> OrderProblem:
        """The operations, and their dependences."""
        ...

    @property
    def bound(self) -> float:
        """A lower bound on the cost of orders."""
        ...

    def cost(self, order: Ints) -> float:
        """The cost of a topological order; `math.inf` for one that cannot be executed."""
        ...

    def part(self, ops: Ints) -> OrderCost:
        """The cost of orders of some of the operations (ascending); results of others are available from the start."""
        ...


@dataclass(frozen=True)
class UnitCost:
    """The fast model, from the order alone: the makespan on in-order units, within the problem's limit on memory."""

    problem: OrderProblem

    @property
    def bound(self) -> float:
        return self._bound

    @cached_property
    def _bound(self) -> int:
        return unit_bound(self.problem)

    def cost(self, order: Ints) -> float:
        makespan = makespan_of(self.problem, order)
        return makespan if makespan < INFEASIBLE else inf

    def part(self, ops: Ints) -> UnitCost:
        return UnitCost(self.problem.part(ops))


@dataclass(frozen=True)
class Effort:
    """The length of a search: counted in steps, not in seconds, so that a search is deterministic."""

    steps: int
    """Number of operations and dependences that may be visited, in all orders together."""
    seed: int = 0
    good: float = 0.0
    """The search stops at the first order of at most this cost."""

    def evaluations(self, problem: OrderProblem, overhead: int = 1) -> int:
        """The number of orders that can be tried, each with an overhead of `overhead` steps."""
        return max(1, self.steps // (problem.ops + len(problem.predecessors.values) + overhead))

    def goal(self, cost: OrderCost) -> float:
        """The cost at which the search may end."""
        return max(self.good, cost.bound)


@dataclass(frozen=True)
class Found:
    """An order, its cost, and the method that found it."""

    order: Ints
    cost: float
    method: str


Search = Callable[[OrderCost, Effort], Found | None]
"""A search: (cost, effort) -> the best order found; None if none was found that can be executed."""


def best_of(cost: OrderCost, orders: Iterable[Ints], method: str, goal: float) -> Found | None:
    """The order of least cost, the first of equal ones; stops at `goal`."""
    best: Found | None = None
    for order in orders:
        price = cost.cost(order)
        if price < (inf if best is None else best.cost):
            best = Found(order.copy(), price, method)
            if price <= goal:
                break
    return best


def cheaper(one: Found | None, other: Found | None) -> Found | None:
    """The cheaper of two orders; the first if both cost the same."""
    if one is None or (other is not None and other.cost < one.cost):
        return other
    return one
