"""List scheduling as a search: with and without a limit on memory, and improved backwards and forwards."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cost_graphs.graph import Ints
from .least_memory import reference_orders
from .list_schedule import forward_backward, list_order
from .memory_list import BLOCK, TRIES, memory_list_order
from .problem import OrderProblem
from .search import Effort, Found, OrderCost, best_of
from .simulate import INFEASIBLE

ROUNDS = 8
"""Largest number of turns of list scheduling backwards and forwards."""
WINDOWS = (32, 8, 2, 128)
"""
Numbers of positions by which operations may start ahead of the reference order, in the order tried; the largest comes
first.
"""


ENOUGH = 5
"""Number of orders within the limit that are made even if they exceed the effort."""


def list_schedule(cost: OrderCost, effort: Effort) -> Found | None:
    """List scheduling by the longest path to the end; with a limit on memory the variant that respects it."""
    problem, goal = cost.problem, effort.goal(cost)
    orders = memory_orders(problem, effort.steps) if problem.capped else unlimited_orders(problem, goal)
    return best_of(cost, orders, "list", goal)


def unlimited_orders(problem: OrderProblem, goal: float) -> Iterator[Ints]:
    """The list schedule without regard to memory; then, if it is not good enough, the improved one."""
    order, start = np.empty((2, problem.ops), np.int64)
    units = len(problem.unit_names)
    first = list_order(problem.arrays, units, problem.arrays.tail, order, start)
    yield order
    if first > goal:
        back, work = problem.reversed().arrays, np.zeros(1, np.int64)
        forward_backward(problem.arrays, back, units, ROUNDS, int(min(goal, INFEASIBLE)), order, start, work)
        yield order


def memory_orders(problem: OrderProblem, steps: int) -> Iterator[Ints]:
    """
    List schedules within the limit, by reference order and distance ahead of it: a few in any case, then as many as
    half of the steps allow.
    """
    order, start = np.empty((2, problem.ops), np.int64)
    tail, units = problem.arrays.tail, len(problem.unit_names)
    left, found = steps // 2, 0
    for reference in reference_orders(problem):
        for window in (problem.ops, *(window for window in WINDOWS if window < problem.ops)):
            # Each start that is tried is checked against the positions that it passes, block by block.
            left -= problem.ops * (30 + 3 * TRIES * window // BLOCK)
            if left < 0 and (found >= ENOUGH or (found and window == problem.ops)):
                continue
            makespan = memory_list_order(problem.arrays, units, problem.cap, reference, tail, window, order, start)
            if makespan < INFEASIBLE:
                found += 1
                yield order
