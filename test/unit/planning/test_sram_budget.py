"""Tests of plans cached by SRAM budget: a reused plan equals a newly computed one."""

from __future__ import annotations

import pytest
from meshloom.analysis.planning.estimate import TaskWork
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_task import TaskRequest, plan_task, task_plans
from meshloom.analysis.planning.resident_values import readable_as
from meshloom.analysis.planning.sram_budget import BudgetMemo, SramBudget
from meshloom.analysis.planning.task_plan import Shortage, Source, TaskPlan
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import MatmulOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.manycore import TaskOp
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

TINY = load_chip("tiny")


def matmul_task() -> TaskInfo:
    block = Block(arg_types=[tensor(f32, (96, 200)), tensor(f32, (200, 160))])
    block.add_op(MatmulOp(*block.args))
    lower_block(block)
    (task,) = [op for op in block.ops if isinstance(op, TaskOp)]
    return TaskInfo.of(task)


def test_a_reused_plan_equals_a_new_one_for_every_budget() -> None:
    info = matmul_task()
    sources = [Source(None, False), Source(None, True)]

    def plan(budget: SramBudget, info: TaskInfo) -> TaskPlan | Shortage:
        return plan_task(TaskRequest(info, TINY, sources, readable_as(info, {(96, 160)}), column_major(TINY)), budget)

    made: list[int] = []

    def counted(budget: SramBudget) -> TaskPlan | Shortage:
        made.append(budget.available)
        return plan(budget, info)

    kept = BudgetMemo[TaskPlan | Shortage]()
    rooms = range(TINY.sram_bytes, 0, -512)
    tilings: set[object] = set()
    for available in rooms:
        # A new task object has no cached plans.
        found, anew = kept.get("matmul", available, counted), plan(SramBudget(available), matmul_task())
        if isinstance(anew, TaskPlan):
            assert isinstance(found, TaskPlan)
            assert (found.tiling, found.sizes, found.slots) == (anew.tiling, anew.sizes, anew.slots)
            tilings.add(anew.tiling)
        else:
            assert found == anew
    assert len(tilings) > 3
    assert len(tilings) <= len(made) < len(rooms)


def test_budgets_between_fitting_and_failing_sizes_give_the_same_answers() -> None:
    budget = SramBudget(100)
    assert budget.fits(60)
    assert not budget.fits(120)
    assert [budget.same_answers(nbytes) for nbytes in (59, 60, 119, 120)] == [False, True, True, False]


def test_a_nested_search_limits_the_budgets_of_the_whole() -> None:
    def halves(budget: SramBudget) -> int:
        return 2 if budget.fits(50) and not budget.fits(70) else 1

    kept = BudgetMemo[int]()
    for _ in range(2):  # the second result is from the cache
        whole = SramBudget(60)
        assert kept.within("halves", whole, halves) == 2
        assert [whole.same_answers(nbytes) for nbytes in (49, 50, 69, 70)] == [False, True, True, False]


@pytest.mark.parametrize("available", [TINY.sram_bytes, TINY.sram_bytes // 4])
def test_the_bound_on_prices_drops_no_best_grid(available: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [Source(None, False), Source(None, True)]

    def plans() -> list[TaskPlan] | Shortage:
        request = TaskRequest(matmul_task(), TINY, sources, None, column_major(TINY))
        return task_plans(request, SramBudget(available), 4)

    found = plans()

    def no_bound(work: TaskWork) -> float:
        return 0.0 * work.steps

    monkeypatch.setattr("meshloom.analysis.planning.task_plan.least_price", no_bound)
    everything = plans()
    assert isinstance(found, list)
    assert isinstance(everything, list)
    assert [(plan.tiling, plan.price) for plan in found] == [(plan.tiling, plan.price) for plan in everything]
