"""Search for an order of the tasks of a block by their estimated times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Block

from ...analysis.cost_graphs.graph import Ints
from ...analysis.orders.anneal import anneal
from ...analysis.orders.mcts import tree_search
from ...analysis.orders.search import Effort, Found, OrderCost, Search
from ...analysis.orders.segments import in_segments, segments_first
from ...analysis.orders.simple import exhaustive, program_order, random_orders
from ...analysis.orders.unit_profiles import ProfileCost
from ...analysis.planning.task_profiles import estimated_profiles
from ...chips import Chip
from .reorder import is_free_to_order, reorder_tasks, task_predecessors, task_segments, tasks_of

SEARCHES: dict[str, Search] = {
    "program": program_order,
    "random": random_orders,
    "anneal": anneal,
    "mcts": tree_search,
    "exhaustive": exhaustive,
}
"""Methods that search the whole graph."""


LINKED: dict[str, Callable[[Sequence[Ints], OrderCost, Effort], Found | None]] = {
    "default": segments_first,
    "segments": in_segments,
}
"""Methods that order the segments between key nodes separately."""


EFFORT = 20_000_000
"""Steps of a search; see `analysis.orders.search`."""


def order_methods() -> tuple[str, ...]:
    """Names of all methods of order search, including those of plug-ins."""
    return (*SEARCHES, *LINKED)


def schedule_block(block: Block, chip: Chip, method: str = "default", seed: int = 0) -> Found | None:
    """Order the tasks of a block; None if there is no choice."""
    found = find_order(block, chip, method, seed)
    if found is not None:
        reorder_tasks(block, [int(task) for task in found.order])
    return found


def find_order(block: Block, chip: Chip, method: str = "default", seed: int = 0, steps: int = EFFORT) -> Found | None:
    """
    An order of the tasks of a block that is estimated to be cheaper than the present one, as numbers of the tasks in
    the present order; None if there is none, or no choice. `steps`: see `analysis.orders.search.Effort`.
    """
    if len(tasks_of(block)) < 3 or not is_free_to_order(block):
        return None
    cost = ProfileCost(estimated_profiles(tasks_of(block), task_predecessors(block), chip))
    return search_order(block, cost, method, seed, steps)


def search_order(block: Block, cost: ProfileCost, method: str, seed: int, steps: int = EFFORT) -> Found | None:
    """An order of a block's tasks that is cheaper than the program's; None if there is none."""
    search = partial(LINKED[method], task_segments(block)) if method in LINKED else SEARCHES[method]
    found = search(cost, Effort(steps, seed))
    program = cost.cost(np.arange(cost.problem.ops, dtype=np.int64))
    return found if found is not None and found.cost < program else None
