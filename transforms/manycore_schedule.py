"""Pass `manycore-schedule`: choose the order of tasks, which is the schedule (spec 3, step 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..analysis.nature import EXACT, Nature
from ..analysis.orders.anneal import anneal
from ..analysis.orders.mcts import tree_search
from ..analysis.orders.pieces import PieceCost
from ..analysis.orders.search import Effort, Found, Search
from ..analysis.orders.simple import exhaustive, program_order, random_orders
from ..analysis.task_pieces import estimated_pieces
from ..chips import Chip, load_chip
from ..dialects.dataflow.interpreter import find_main
from ..dialects.manycore import CHIP, ChipAttr, chip_of
from ..support.errors import InputError
from .reorder import is_free_to_order, reorder_tasks, task_predecessors, tasks_of

Method = Literal["default", "program", "random", "anneal", "mcts", "exhaustive"]
SEARCHES: dict[Method, Search] = {
    "default": anneal,
    "program": program_order,
    "random": random_orders,
    "anneal": anneal,
    "mcts": tree_search,
    "exhaustive": exhaustive,
}
EFFORT = 6_000_000
"""Steps of a search; see `analysis.orders.search`."""


@dataclass(frozen=True)
class ManycoreSchedulePass(ModulePass):
    """
    Put the tasks of `@main` in a good order for the chip, by their estimated times on each unit and by what stays in
    the cores meanwhile.

    Without `chip`, the chip is the module's. `method`: default (annealing), program (as it is), random, anneal, mcts,
    exhaustive. Orders depend on `seed` alone. A function in which other operations have effects stays as it is.
    """

    name = "manycore-schedule"
    nature: ClassVar[Nature] = EXACT

    chip: str | None = None
    method: Method = "default"
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.method not in get_args(Method):
            raise InputError(f"unknown method '{self.method}': choose one of {', '.join(get_args(Method))}")
        if self.chip is not None:
            chip = load_chip(self.chip)
            op.attributes[CHIP] = ChipAttr(self.chip)
        else:
            chip = chip_of(op)
        if chip is None:
            raise InputError(f"no chip is given: use manycore-schedule{{chip=NAME}}, or module attribute {CHIP}")
        schedule_block(find_main(op).body.block, chip, self.method, self.seed)


def schedule_block(block: Block, chip: Chip, method: Method = "default", seed: int = 0) -> Found | None:
    """Order the tasks of a block; None if there is nothing to choose."""
    if len(tasks_of(block)) < 3 or not is_free_to_order(block):
        return None
    cost = PieceCost(estimated_pieces(tasks_of(block), task_predecessors(block), chip))
    found = SEARCHES[method](cost, Effort(EFFORT, seed))
    program = cost.cost(np.arange(cost.problem.ops, dtype=np.int64))
    if found is not None and found.cost < program:
        reorder_tasks(block, [int(task) for task in found.order])
    return found
