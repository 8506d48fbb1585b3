"""Candidate plans of a function of tasks: in program order, and in orders found by search."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ...analysis.planning.loops import LoopSpan, loops_in
from ...analysis.planning.placement import column_major
from ...analysis.planning.plan_memo import PlanMemo
from ...analysis.planning.plan_network import NetworkPlan, plan_network
from ...analysis.search import ACCEPT_RATIO
from ...chips import Chip
from ...support.errors import MeshloomError
from ...transforms.manycore_tile import plans_of, write_tilings
from ...transforms.shared.reorder import arrange_tasks, tasks_of
from ...transforms.shared.task_order import find_order
from ..ir.loop_tasks import store_in_steps
from ..options.effort import Effort
from .autotune_subgraph import Plan

STEPS, STEPS_A_TASK = 2_000_000, 20_000
"""
Steps of the order search, and of each task, at most: a tenth of those of pass `manycore-schedule`, which finds the same
order for most networks; few tasks need fewer.
"""
STORED_STEP = 2
"""
Latencies of DRAM that a step is estimated to take at least for that it stores what it stacks: the next step waits for
that store, and steps take about half of what is estimated, as cores do not exchange and compute in turn.
"""
NAMES = ("tilings that look ahead", "tilings task by task")


def candidate_plans(function: FuncOp, chip: Chip, memo: PlanMemo, effort: Effort) -> list[Plan]:
    """
    Plans of the untiled tasks of a function: in program order, and in up to `effort.orders` others that are estimated
    to be cheaper (spec 3). The function's tasks are left in the order of the last plan, with its tilings. Loops whose
    steps take longer than a store to DRAM store in each step what they stack for others than tasks.

    `memo`: of the tasks. Raises as `plan_network` if they cannot be planned in program order.
    """
    block = function.body.block
    program = tasks_of(block)
    plans = plans_of(function, chip, memo)
    # A step of a loop that ends by values would wait for its stores.
    storing = [span for span in plans[0].loops if not span.op.ending]
    if any([store_in_steps(span.op) for span in storing if _stores(plans[0], span, chip)]):
        plans = plans_of(function, chip, memo)
    if plans[0].loops:
        found = [Plan(f"grids of loops {number}", plan) for number, plan in enumerate(plans, 1)]
    else:
        found = [Plan(*one) for one in zip(NAMES[-len(plans) :], plans, strict=True)]
    seen = {tuple(program)}
    steps = min(STEPS, STEPS_A_TASK * len(program))
    for seed in range(0 if loops_in(block) else effort.orders):
        order = find_order(block, chip, effort.method, seed, steps)
        if order is None:
            break
        tasks = tuple(program[int(number)] for number in order.order)
        if tasks in seen:
            continue
        seen.add(tasks)
        arrange_tasks(block, tasks)
        try:
            best = plans_of(function, chip, memo)[0]
            found.append(Plan(f"order of tasks by search {seed + 1}", best, ACCEPT_RATIO))
        except MeshloomError:
            pass  # more values are needed at once
        finally:
            arrange_tasks(block, program)
    return [replace(plan, network=_read_back(plan.network, function, chip, memo)) for plan in found]


def given_plan(function: FuncOp, chip: Chip, memo: PlanMemo) -> Plan:
    """The plan that tiled tasks specify. Raises as `plan_network`."""
    network = plan_network(function, chip, column_major(chip), memo)
    return Plan("tilings as given", _read_back(network, function, chip, memo))


def _stores(plan: NetworkPlan, span: LoopSpan, chip: Chip) -> bool:
    """Whether a loop should store what it stacks step by step: its steps are long, or the cores do not keep it all."""
    kept = all(value in plan.resident for value in span.op.stacked)
    return not kept or plan.cycles_of_loop(span) >= STORED_STEP * chip.dram_latency


def _read_back(plan: NetworkPlan, function: FuncOp, chip: Chip, memo: PlanMemo) -> NetworkPlan:
    """Write a plan to the tasks and derive it again from them, as for tilings that a user specifies."""
    arrange_tasks(function.body.block, [info.op for info in plan.tasks])
    write_tilings(plan)
    return replace(plan_network(function, chip, column_major(chip), memo), policy=plan.policy)
