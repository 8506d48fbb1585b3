"""Pass `manycore-schedule`: choose the order of tasks, which is the schedule (spec 3, step 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..analysis.orders.unit_profiles import ProfileCost
from ..analysis.planning.task_profiles import estimated_profiles
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..chips import Chip
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import SubgraphOp
from ..dialects.manycore.stage import networks_of
from ..support.errors import InputError
from .shared.chip_option import chip_for
from .shared.refuse_subgraphs import refuse_subgraphs
from .shared.reorder import arrange_tasks, is_free_to_order, task_predecessors, tasks_of
from .shared.task_order import order_methods, schedule_block, search_order

Model = Literal["estimate", "stream"]


CANDIDATES = 2
"""Number of orders, of those found by streams, that are compiled and emulated."""


@dataclass(frozen=True)
class ManycoreSchedulePass(ModulePass):
    """
    Reorder the tasks of `@main`, or of each of its subgraphs, for the chip, by their estimated times on each unit and
    the values that stay in the cores.

    Without `chip`, the chip is the module's. `method`: segments (between key nodes, each separately), default
    (segments, then annealing across their borders), program (as it is), random, anneal, mcts, exhaustive. Orders depend
    on `seed` alone. A function in which other operations have side effects does not change.

    `model`: `estimate` (from the tasks alone), or `stream`: the tasks are compiled once, orders are evaluated by the
    streams of instructions, and of a few orders, including the program's, the one with the fewest emulated cycles is
    chosen; not in subgraphs.
    """

    name = "manycore-schedule"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

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


def schedule_by_streams(module: ModuleOp, block: Block, chip: Chip, method: str = "default", seed: int = 0) -> None:
    """
    Order the tasks of `block`, the body of @main, by compiled streams. Of program order, the order by estimates and
    some orders by streams, the one with the fewest emulated cycles is chosen. Raises the errors of `measured_profiles`.
    """
    from ..lowering.driver.order_costs import emulated_cycles, measured_profiles

    tasks = tasks_of(block)
    if len(tasks) < 3 or not is_free_to_order(block):
        return
    estimate = ProfileCost(estimated_profiles(tasks, task_predecessors(block), chip))
    streams = ProfileCost(measured_profiles(module, chip))
    tries = [(estimate, seed), *((streams, seed + number) for number in range(CANDIDATES))]
    orders = [found.order for cost, lot in tries if (found := search_order(block, cost, method, lot)) is not None]
    best, least = list(tasks), emulated_cycles(module, chip)
    for order in orders:
        trial = [tasks[int(task)] for task in order]
        arrange_tasks(block, trial)
        if (cycles := emulated_cycles(module, chip)) < least:
            best, least = trial, cycles
    arrange_tasks(block, best)
