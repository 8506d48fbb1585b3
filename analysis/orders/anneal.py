"""Simulated annealing as a search: compiled for the fast model, in Python for any other model."""

from __future__ import annotations

from math import exp, inf

import numpy as np

from ..cost_graphs.graph import Ints
from .annealing import COLDEST, anneal_order
from .lists import list_schedule
from .problem import OrderProblem
from .search import PLAIN, Effort, Found, OrderCost, UnitCost, cheaper
from .simple import program_order

HEAT = 0.0005
"""Temperature at the start, over the cost: an order that is worse by this is accepted with probability 1/e."""


def anneal(cost: OrderCost, effort: Effort) -> Found | None:
    """The best order that annealing finds, from the better of program order and list schedule."""
    begin = cheaper(program_order(cost, effort), list_schedule(cost, effort))
    return None if begin is None else anneal_from(cost, begin, effort)


def anneal_from(cost: OrderCost, begin: Found, effort: Effort) -> Found:
    """The best order that annealing finds from `begin`; it is never worse than `begin`."""
    goal = effort.goal(cost)
    if begin.cost <= goal or cost.problem.ops < 2:
        return begin
    problem, order = cost.problem, begin.order.copy()
    if isinstance(cost, UnitCost):
        units, count = len(problem.unit_names), effort.evaluations(problem)
        makespan = anneal_order(problem.arrays, units, problem.cap, order, count, HEAT, int(goal), effort.seed)
        found = Found(order, float(makespan), "anneal")
    else:
        found = _anneal_plainly(cost, begin, effort.evaluations(problem, PLAIN), goal, effort.seed)
    return found if found.cost < begin.cost else begin


def _anneal_plainly(cost: OrderCost, begin: Found, count: int, goal: float, seed: int) -> Found:
    random = np.random.default_rng(seed)
    problem = cost.problem
    now, current, best = begin.order.copy(), begin.cost, begin
    for number in range(count):
        if best.cost <= goal:
            break
        order = moved(problem, now, random)
        price = cost.cost(order)
        temperature = HEAT * begin.cost * COLDEST ** (number / count)
        if price < inf and (price <= current or random.random() < exp((current - price) / temperature)):
            now, current = order, price
            if price < best.cost:
                best = Found(order, price, "anneal")
    return best


def moved(problem: OrderProblem, order: Ints, random: np.random.Generator) -> Ints:
    """The order with one operation moved to another position between its last predecessor and its first successor."""
    position = np.empty(problem.ops, np.int64)
    position[order] = np.arange(problem.ops)
    for op in random.permutation(problem.ops)[:8].tolist():
        low = int(position[problem.predecessors[op]].max(initial=-1)) + 1
        high = int(position[problem.successors[op]].min(initial=problem.ops)) - 1
        if low < high:
            aim = int(random.integers(low, high))
            aim += aim >= position[op]
            return np.insert(np.delete(order, position[op]), aim, op)
    return order
