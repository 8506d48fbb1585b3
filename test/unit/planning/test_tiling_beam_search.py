"""Tests of the tiling beam search: it prefers tilings whose result the next task reads in place."""

from __future__ import annotations

import pytest
from meshloom.analysis.planning.network_estimate import TaskWorks
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.plan_task import TaskRequest, plan_task, task_plans
from meshloom.analysis.planning.reads import ReadKind
from meshloom.analysis.planning.resident_values import readable_as
from meshloom.analysis.planning.sram_budget import SramBudget
from meshloom.analysis.planning.sram_layout import estimated_times, lay_out_sram
from meshloom.analysis.planning.task_plan import Source, TaskPlan
from meshloom.analysis.planning.tiling_beam_search import tiling_beam_search
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import TaskOp
from meshloom.lowering.dataflow_to_manycore import lower_block
from meshloom.transforms.manycore_tile import write_tilings
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

TINY, EDGE = load_chip("tiny"), load_chip("edge")


def main_of(body: str, result: str) -> FuncOp:
    """The function `@main` of %x and %w, both 64 x 64, as tasks."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    head = f"func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> {result} {{"
    function = find_main(Parser(context, f"{head}\n{body}\n}}").parse_module())
    lower_block(function.body.block)
    return function


def sums(dim: int) -> FuncOp:
    """Exponentials, and their sums along a dimension."""
    result = "tensor<64x1xf32>" if dim else "tensor<1x64xf32>"
    body = f"""%e = dataflow.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = dataflow.reduce sum %e axes [{dim}] : (tensor<64x64xf32>) -> {result}
    func.return %s : {result}"""
    return main_of(body, result)


def layers() -> FuncOp:
    """Layers of a matrix product, from which the maxima of its rows or columns, in turn, are subtracted."""
    square, lines = "tensor<64x64xf32>", list[str]()
    for layer in range(4):
        one, value = "tensor<1x64xf32>" if layer % 2 else "tensor<64x1xf32>", f"%v{layer}" if layer else "%x"
        lines += [
            f"%p{layer} = dataflow.matmul {value}, %w : ({square}, {square}) -> {square}",
            f"%m{layer} = dataflow.reduce max %p{layer} axes [{1 - layer % 2}] : ({square}) -> {one}",
            f"%b{layer} = dataflow.broadcast %m{layer} : ({one}) -> {square}",
            f"%v{layer + 1} = dataflow.sub %p{layer}, %b{layer} : ({square}, {square}) -> {square}",
        ]
    return main_of("\n".join([*lines, f"func.return %v4 : {square}"]), square)


def planned(function: FuncOp, chip: Chip) -> NetworkPlan:
    """The plan made task by task."""
    return plan_network(function, chip, column_major(chip))


def estimated(network: NetworkPlan, chip: Chip) -> int:
    """The sum of the estimated cycles of all tasks."""
    works = TaskWorks(network)
    return sum(estimated_times(network, lay_out_sram(network, chip, works), chip, works))


@pytest.mark.parametrize("dim", [0, 1])
def test_values_that_are_summed_next_stay_in_one_core(dim: int) -> None:
    """
    The exponentials are cut so that each sum reads values of its own core only.

    All grids of 2 x 2 cores take the same time for exponentials; one that does not divide the sums needs no exchange.
    """
    network = tiling_beam_search(planned(sums(dim), TINY), TINY, column_major(TINY))
    assert [read.kind for read in network.plans[1].reads] == [ReadKind.DIRECT]


@pytest.mark.parametrize("chip", [TINY, EDGE], ids=lambda chip: chip.name)
def test_never_estimated_slower_and_the_same_values_stay(chip: Chip) -> None:
    alone = planned(layers(), chip)
    ahead = tiling_beam_search(alone, chip, column_major(chip))
    assert estimated(ahead, chip) <= estimated(alone, chip)
    assert [plan.resident for plan in ahead.plans] == [plan.resident for plan in alone.plans]


def test_plans_of_the_beam_search_are_read_back_from_the_ir() -> None:
    function = layers()
    ahead = tiling_beam_search(planned(function, EDGE), EDGE, column_major(EDGE))
    write_tilings(ahead)
    read = planned(function, EDGE)
    assert [(one.tiling, one.resident, one.sizes) for one in read.plans] == [
        (one.tiling, one.resident, one.sizes) for one in ahead.plans
    ]
    assert tiling_beam_search(read, EDGE, column_major(EDGE)) is read  # tilings that the IR specifies are kept


def test_tilings_of_a_task_differ_in_their_grids_the_best_first() -> None:
    function = layers()
    info = next(TaskInfo.of(op) for op in function.body.block.ops if isinstance(op, TaskOp) and op.operands[1:])
    sources = [Source(None, False) for _ in info.operands]
    request = TaskRequest(info, EDGE, sources, readable_as(info, set()), column_major(EDGE))
    budget = SramBudget(EDGE.sram_bytes)
    found = task_plans(request, budget, 4)
    assert isinstance(found, list)
    assert 1 < len({plan.tiling.grid for plan in found}) == len(found) <= 4
    assert [plan.price for plan in found] == sorted(plan.price for plan in found)
    best = plan_task(request, budget)
    assert isinstance(best, TaskPlan)
    assert best.tiling == found[0].tiling
