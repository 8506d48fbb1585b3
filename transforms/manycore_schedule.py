"""Pass `manycore-schedule`: choose the order of tasks, which is the schedule (spec 3, step 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..analysis.cost_graphs.graph import Ints
from ..analysis.nature import EXACT, Nature
from ..analysis.orders.anneal import anneal
from ..analysis.orders.mcts import tree_search
from ..analysis.orders.pieces import PieceCost
from ..analysis.orders.search import Effort, Found, OrderCost, Search
from ..analysis.orders.segments import in_segments, segments_first
from ..analysis.orders.simple import exhaustive, program_order, random_orders
from ..analysis.task_pieces import estimated_pieces
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .chip_option import chip_for
from .no_subgraphs import refuse_subgraphs
from .reorder import arrange_tasks, is_free_to_order, reorder_tasks, task_predecessors, task_segments, tasks_of

Model = Literal["estimate", "stream"]
SEARCHES: dict[str, Search] = {
    "program": program_order,
    "random": random_orders,
    "anneal": anneal,
    "mcts": tree_search,
    "exhaustive": exhaustive,
}
"""Those that look at the whole."""
LINKED: dict[str, Callable[[Sequence[Ints], OrderCost, Effort], Found | None]] = {
    "default": segments_first,
    "segments": in_segments,
}
"""Those that order the segments between key nodes by themselves."""
EFFORT = 20_000_000
"""Steps of a search; see `analysis.orders.search`."""


CANDIDATES = 2
"""Orders by streams that are compiled and emulated."""


@dataclass(frozen=True)
class ManycoreSchedulePass(ModulePass):
    """
    Put the tasks of `@main`, or of each of its subgraphs, in a good order for the chip, by their estimated times on
    each unit and by what stays in the cores meanwhile.

    Without `chip`, the chip is the module's. `method`: segments (between key nodes, each by itself), default (segments,
    then annealing across their borders), program (as it is), random, anneal, mcts, exhaustive. Orders depend on `seed`
    alone. A function in which other operations have effects stays as it is.

    `model`: estimate (from the tasks alone), or stream: the tasks are compiled once, orders are judged by the streams
    of instructions, and of a few the one with the fewest emulated cycles is taken, the program's order among them; not
    in subgraphs.
    """

    name = "manycore-schedule"
    nature: ClassVar[Nature] = EXACT

    chip: str | None = None
    method: str = "default"
    model: Model = "estimate"
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.method not in order_methods():
            raise InputError(f"unknown method '{self.method}': choose one of {', '.join(order_methods())}")
        if self.model == "stream":
            refuse_subgraphs(op, f"{self.name}{{model=stream}}")
        for network in networks_of(op):
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            block = find_main(network).body.block
            if self.model == "stream":
                schedule_by_streams(network, block, chip, self.method, self.seed)
            else:
                subgraphs = [one.body.block for one in block.ops if isinstance(one, SubgraphOp)]
                for inner in subgraphs or [block]:
                    schedule_block(inner, chip, self.method, self.seed)


def order_methods() -> tuple[str, ...]:
    """Names of all ways to search an order, those of plug-ins included."""
    return (*SEARCHES, *LINKED)


def schedule_block(block: Block, chip: Chip, method: str = "default", seed: int = 0) -> Found | None:
    """Order the tasks of a block; None if there is nothing to choose."""
    found = find_order(block, chip, method, seed)
    if found is not None:
        reorder_tasks(block, [int(task) for task in found.order])
    return found


def find_order(block: Block, chip: Chip, method: str = "default", seed: int = 0, steps: int = EFFORT) -> Found | None:
    """
    An order of the tasks of a block that is estimated to be cheaper than theirs, as numbers of the tasks as they stand;
    None if there is none, or nothing to choose. `steps`: see `analysis.orders.search.Effort`.
    """
    if len(tasks_of(block)) < 3 or not is_free_to_order(block):
        return None
    cost = PieceCost(estimated_pieces(tasks_of(block), task_predecessors(block), chip))
    return _search(block, cost, method, seed, steps)


def schedule_by_streams(module: ModuleOp, block: Block, chip: Chip, method: str = "default", seed: int = 0) -> None:
    """
    Order the tasks of `block`, @main's, by compiled streams: of the program's order, the one by estimates and some by
    streams, that with the fewest emulated cycles. Raises as `compiled_pieces` does.
    """
    from ..lowering.compiled_pieces import compiled_pieces, emulated_cycles

    tasks = tasks_of(block)
    if len(tasks) < 3 or not is_free_to_order(block):
        return
    estimate = PieceCost(estimated_pieces(tasks, task_predecessors(block), chip))
    streams = PieceCost(compiled_pieces(module, chip))
    tries = [(estimate, seed), *((streams, seed + number) for number in range(CANDIDATES))]
    orders = [found.order for cost, lot in tries if (found := _search(block, cost, method, lot)) is not None]
    best, least = list(tasks), emulated_cycles(module, chip)
    for order in orders:
        trial = [tasks[int(task)] for task in order]
        arrange_tasks(block, trial)
        if (cycles := emulated_cycles(module, chip)) < least:
            best, least = trial, cycles
    arrange_tasks(block, best)


def _search(block: Block, cost: PieceCost, method: str, seed: int, steps: int = EFFORT) -> Found | None:
    """An order of a block's tasks that is cheaper than the program's; None if there is none."""
    search = partial(LINKED[method], task_segments(block)) if method in LINKED else SEARCHES[method]
    found = search(cost, Effort(steps, seed))
    program = cost.cost(np.arange(cost.problem.ops, dtype=np.int64))
    return found if found is not None and found.cost < program else None
