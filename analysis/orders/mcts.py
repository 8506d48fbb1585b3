"""
Monte-Carlo tree search for one player (Schadd et al., "Single-player Monte-Carlo tree search", 2008).

A node of the tree is a prefix of an order. From a leaf the order is completed by the longest path to the end, with some
randomness; its cost is backed up to the root. Each visit follows the child with the best balance of best result and
rarity of visits (UCB1; Auer et al., 2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log, sqrt

import numpy as np

from ..cost_graphs.graph import Ints
from .lists import list_schedule
from .search import PLAIN, Effort, Found, OrderCost, cheaper
from .simple import program_order
from .topological import complete_order

EXPLORE = 0.3
"""Weight of rare visits relative to good results, which are between 0 and 1."""
NOISE = 0.3
"""Randomness of completions, relative to the critical path."""


@dataclass
class _Node:
    op: int
    untried: list[int]
    children: list[_Node] = field(default_factory=list["_Node"])
    visits: int = 0
    best: float = inf
    exhausted: bool = False


def tree_search(cost: OrderCost, effort: Effort) -> Found | None:
    """
    The best completion seen; never worse than the program's order and the list schedule, which are evaluated as well.
    """
    problem, goal = cost.problem, effort.goal(cost)
    best = cheaper(program_order(cost, effort), list_schedule(cost, effort))
    random = np.random.default_rng(effort.seed)
    tail = problem.arrays.tail
    spread = NOISE * float(tail.max(initial=0))
    degree = np.diff(problem.predecessors.starts)
    order = np.empty(problem.ops, np.int64)
    root = _Node(-1, np.flatnonzero(degree == 0).tolist())
    worst = 0.0
    for number in range(effort.evaluations(problem, PLAIN)):
        if root.exhausted or (best is not None and best.cost <= goal):
            break
        path, missing, ready = [root], degree.copy(), list(root.untried) + [child.op for child in root.children]
        while True:
            node = path[-1]
            if node.untried:
                longest = max(range(len(node.untried)), key=lambda index: tail[node.untried[index]])
                op = node.untried.pop(longest)
                ready = _after(ready, op, missing, problem.successors[op].tolist())
                child = _Node(op, list(ready), exhausted=not ready)
                node.children.append(child)
                path.append(child)
                break
            node = max(
                (child for child in node.children if not child.exhausted),
                key=lambda child: _value(child, node.visits, best.cost if best else inf, worst),
            )
            ready = _after(ready, node.op, missing, problem.successors[node.op].tolist())
            path.append(node)
        order[: len(path) - 1] = [node.op for node in path[1:]]
        noise = random.random(problem.ops) * spread if number else np.zeros(problem.ops)
        complete_order(problem.arrays, order, len(path) - 1, tail + noise.astype(np.int64))
        price = cost.cost(order)
        if price < inf:
            worst = max(worst, price)
        if price < (inf if best is None else best.cost):
            best = Found(order.copy(), price, "mcts")
        for node in reversed(path):
            node.visits += 1
            node.best = min(node.best, price)
            node.exhausted = not node.untried and all(child.exhausted for child in node.children)
    return best


def _after(ready: list[int], op: int, missing: Ints, after: list[int]) -> list[int]:
    """The operations that are ready after `op` has run."""
    missing[after] -= 1
    return [other for other in ready if other != op] + [other for other in after if missing[other] == 0]


def _value(child: _Node, visits: int, best: float, worst: float) -> float:
    """Upper confidence bound of a child; a result counts 1 if it is the best, 0 if it is the worst."""
    gain = 0.0 if child.best == inf else 1.0 if worst <= best else (worst - child.best) / (worst - best)
    return gain + EXPLORE * sqrt(log(visits + 1) / child.visits)
