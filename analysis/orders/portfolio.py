"""The default search: the fastest methods first, then annealing if no order is proven optimal."""

from __future__ import annotations

from dataclasses import replace

from .anneal import anneal_from
from .lists import list_schedule, unlimited_orders
from .search import Effort, Found, OrderCost, best_of, cheaper
from .simple import program_order


def portfolio(cost: OrderCost, effort: Effort) -> Found | None:
    """
    The best of program order, list schedules with and without regard to memory, and annealing from the best of these.
    Stops when the order is proven to be optimal (it reaches a lower bound).
    """
    goal = effort.goal(cost)
    best: Found | None = None
    for step in (_unlimited, list_schedule, program_order):
        if best is None or best.cost > goal:
            best = cheaper(best, step(cost, effort))
    if best is None or best.cost <= goal:
        return best
    return anneal_from(cost, best, replace(effort, steps=effort.steps))


def _unlimited(cost: OrderCost, effort: Effort) -> Found | None:
    goal = effort.goal(cost)
    return best_of(cost, unlimited_orders(cost.problem, goal), "list", goal)
