"""Simple searches: the program's order, all orders, random orders (spec 3, step 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ...support.errors import InputError
from ..cost_graphs.graph import Ints
from .search import PLAIN, Effort, Found, OrderCost, best_of
from .topological import random_order, topological_orders

MOST_ORDERS = 20_000
"""Largest number of orders of an exhaustive search."""


def program_order(cost: OrderCost, effort: Effort) -> Found | None:
    """The order in which the operations are numbered."""
    return best_of(cost, [np.arange(cost.problem.ops, dtype=np.int64)], "program", effort.goal(cost))


def exhaustive(cost: OrderCost, effort: Effort) -> Found | None:
    """
    The best of all topological orders.

    Raises InputError if there are more than MOST_ORDERS: an incomplete search would look like a proof.
    """
    return best_of(cost, _all_orders(cost), "exhaustive", effort.goal(cost))


def all_if_few(cost: OrderCost, effort: Effort) -> Found | None:
    """The best of all topological orders; None if there are more than the effort allows."""
    most = effort.evaluations(cost.problem, PLAIN)
    orders = list(islice(topological_orders(cost.problem), most + 1))
    return best_of(cost, orders, "exhaustive", effort.goal(cost)) if len(orders) <= most else None


def _all_orders(cost: OrderCost) -> Iterator[Ints]:
    for number, order in enumerate(topological_orders(cost.problem)):
        if number == MOST_ORDERS:
            raise InputError(
                f"there are more than {MOST_ORDERS:,} orders: choose another method, such as anneal or mcts"
            )
        yield order


def random_orders(cost: OrderCost, effort: Effort) -> Found | None:
    """The best of as many random orders as the effort allows."""
    return best_of(cost, draw(cost, effort.evaluations(cost.problem, PLAIN), effort.seed), "random", effort.goal(cost))


def draw(cost: OrderCost, count: int, seed: int) -> Iterator[Ints]:
    """`count` random topological orders, in one array that each overwrites."""
    order = np.empty(cost.problem.ops, np.int64)
    for number in range(count):
        random_order(cost.problem.arrays, (seed * 1_000_003 + number) % (1 << 32), order)
        yield order
