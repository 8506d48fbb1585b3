"""Candidate plans of a function of tasks: in program order, and in orders found by a search."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.func import FuncOp

from ...analysis.planning.loops import loops_in
from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.placement import column_major
from ...analysis.planning.plan_memo import PlanMemo
from ...analysis.planning.plan_network import plan_network
from ...chips import Chip
from ...dialects.dataflow import LoopOp
from ...support.errors import MeshloomError
from ...transforms.manycore_tile import plans_of, write_tilings
from ...transforms.shared.reorder import arrange_tasks, tasks_of
from ...transforms.shared.task_order import find_order
from ..ir.loop_tasks import store_in_steps
from ..options.effort import Effort
from .autotune_subgraph import Plan

STEPS, STEPS_A_TASK = 2_000_000, 20_000
"""
Largest number of steps of the order search, in total and per task. The total is a tenth of that of pass
`manycore-schedule`, which finds the same order for most networks.
"""
MIN_STEP_LATENCIES = 2
"""
A loop stores a row of its stacked results in each step only if a step is estimated to take at least this many DRAM
latencies, since the next step waits for the store. Steps take about half of their estimate, which does not let
exchanges and computation overlap. Measured on `edge`: `rnn_long` takes 37% fewer cycles than with 1.
"""
NAMES = ("tilings by beam search", "tilings task by task")


def candidate_plans(function: FuncOp, chip: Chip, memo: PlanMemo, effort: Effort) -> list[Plan]:
    """
    Plans of the untiled tasks of a function: in program order, and in up to `effort.orders` other orders that are
    estimated to be cheaper (spec 3). The tasks are left in the order of the last plan, with its tilings. In loops with
    long steps, or whose stacked results do not fit the cores, those that no task reads are stored row by row, one in
    each step; of other loops, only plans are returned in which these results stay in the cores for all steps.

    `memo`: plans of single tasks. Raises as `plan_network` if the tasks cannot be planned in program order.
    """
    block = function.body.block
    program = tasks_of(block)
    plans = plans_of(function, chip, memo)
    # If the number of steps is known at run time only, units are idle between steps, so each step would wait for its
    # store.
    stored: list[LoopOp] = []
    for span in (span for span in plans[0].loops if not span.op.ending):
        keeping = [plan for plan in plans if plan.keeps_rows(span)]
        if keeping and keeping[0].cycles_of_loop(span) < MIN_STEP_LATENCIES * chip.dram_latency:
            plans = keeping
        else:
            stored.append(span.op)
    if any([store_in_steps(loop) for loop in stored]):
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
            found.append(Plan(f"order of tasks by search {seed + 1}", best))
        except MeshloomError:
            pass  # the values that are live at one time do not fit
        finally:
            arrange_tasks(block, program)
    return [replace(plan, network=_read_back(plan.network, function, chip, memo)) for plan in found]


def given_plan(function: FuncOp, chip: Chip, memo: PlanMemo) -> Plan:
    """The plan with the tilings that the tasks have. Raises as `plan_network`."""
    network = plan_network(function, chip, column_major(chip), memo)
    return Plan("tilings as given", _read_back(network, function, chip, memo))


def _read_back(plan: NetworkPlan, function: FuncOp, chip: Chip, memo: PlanMemo) -> NetworkPlan:
    """Write a plan's tilings to the tasks, and plan these tilings, as if a user had specified them."""
    arrange_tasks(function.body.block, [info.op for info in plan.tasks])
    write_tilings(plan)
    return replace(plan_network(function, chip, column_major(chip), memo), policy=plan.policy)
