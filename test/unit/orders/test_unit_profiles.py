"""Tests of orders of tasks by unit profiles: costs computed by hand, reordering of tasks, and the pass."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.graph import lists_of
from meshloom.analysis.orders.unit_profiles import ProfileCost, UnitProfiles
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import Manycore
from meshloom.lowering.dataflow_to_manycore import DataflowToManycorePass
from meshloom.transforms.manycore_schedule import ManycoreSchedulePass
from meshloom.transforms.shared.reorder import reorder_tasks, task_predecessors, tasks_of
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser


def profiles(held: int = 0, room: int = 100) -> UnitProfiles:
    """a takes 10 cycles on X, then 4 on Y; b reads a; c is independent: 3 on Y, then 6 on X; its constants take 20."""
    return UnitProfiles(
        ("a", "b", "c"),
        ("X", "Y"),
        offset=np.array([[0, 10], [0, 0], [3, 0]]),
        busy=np.array([[10, 4], [0, 5], [6, 3]]),
        load=np.array([0, 0, 20]),
        latency=np.array([2, 2, 2]),
        predecessors=lists_of([[], [0], []]),
        held=np.array([held, 0, held]),
        room=room,
        spill=3.0,
    )


def test_cost_of_three_tasks() -> None:
    cost = ProfileCost(profiles())
    # a ends at 14; b runs from 16 to 21; c: Y and X are free at 21, so it ends at 21 + 9. Its constants are prefetched.
    assert cost.cost(np.array([0, 1, 2])) == 30
    # c first: its units end at 9, its constants at 20. a: X is free at 9, it ends at 23; b runs from 25 to 30.
    assert cost.cost(np.array([2, 0, 1])) == 30
    # a ends at 14, on Y from 10; c: on Y from 14 to 17, on X from 17 to 23; b: Y is free at 17, so it ends at 22.
    assert cost.cost(np.array([0, 2, 1])) == 23
    assert cost.bound == 20


def test_spilled_bytes_cost_cycles() -> None:
    """a and c hold 60 bytes each at the same time: the 20 bytes above the limit cost 3 cycles per byte for spilling."""
    free, tight = ProfileCost(profiles(60, 200)), ProfileCost(profiles(60))
    order = np.array([0, 2, 1])
    assert tight.cost(order) == free.cost(order) + 20 * 3
    order = np.array([0, 1, 2])  # b is the last reader of a: a is freed before c
    assert tight.cost(order) == free.cost(order)


PROGRAM = """
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<4096xf32>) {
  %a = manycore.task @a(%p = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.tanh %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %r = dataflow.reshape %a : (tensor<64x64xf32>) -> tensor<4096xf32>
  %b = manycore.task @b(%p = %x : tensor<64x64xf32>, %q = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %c = manycore.task @c(%p = %r : tensor<4096xf32>) -> tensor<4096xf32>
      tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
    %0 = dataflow.tanh %p : (tensor<4096xf32>) -> tensor<4096xf32>
    manycore.yield %0 : tensor<4096xf32>
  }
  func.return %b, %c : tensor<64x64xf32>, tensor<4096xf32>
}
"""


def parse(program: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore):
        context.load_dialect(dialect)
    return Parser(context, program).parse_module()


@pytest.fixture
def module() -> ModuleOp:
    return parse(PROGRAM)


def names(module: ModuleOp) -> list[str]:
    return [task.sym_name.data for task in tasks_of(find_main(module).body.block)]


def test_reordering_moves_the_views_that_a_task_reads(module: ModuleOp) -> None:
    block = find_main(module).body.block
    assert task_predecessors(block) == [[], [], [0]]  # c reads a through the reshape
    reorder_tasks(block, [0, 2, 1])
    module.verify()
    assert [op.name for op in block.ops][:3] == ["manycore.task", "dataflow.reshape", "manycore.task"]
    assert names(module) == ["a", "c", "b"]
    assert task_predecessors(block) == [[], [0], []]


@pytest.mark.parametrize(
    ("order", "message"),
    [([2, 0, 1], "task 'c' comes before 'a', whose result it reads"), ([0, 0, 1], "each of the 3 tasks once")],
)
def test_wrong_orders_are_refused(module: ModuleOp, order: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reorder_tasks(find_main(module).body.block, order)
    assert names(module) == ["a", "b", "c"]


@pytest.mark.parametrize("model", ["estimate", "stream"])
def test_the_pass_keeps_the_bodies_of_tasks(module: ModuleOp, model: str) -> None:
    before = {task.sym_name.data: str(task.body) for task in tasks_of(find_main(module).body.block)}
    ManycoreSchedulePass(chip="tiny", model="stream" if model == "stream" else "estimate").apply(Context(), module)
    module.verify()
    assert {task.sym_name.data: str(task.body) for task in tasks_of(find_main(module).body.block)} == before


def test_the_order_by_streams_takes_no_more_emulated_cycles(module: ModuleOp) -> None:
    from meshloom.chips import load_chip
    from meshloom.lowering.driver.order_costs import emulated_cycles, measured_profiles

    chip = load_chip("tiny")
    before = emulated_cycles(module, chip)
    cut = measured_profiles(module, chip)
    assert cut.names == ("a", "b", "c")
    assert (cut.busy[:, cut.unit_names.index("MPU")] > 0).tolist() == [False, True, False]
    ManycoreSchedulePass(chip="tiny", model="stream").apply(Context(), module)
    assert emulated_cycles(module, chip) <= before


FEW_POSITIONS = """
func.func @main(%x: tensor<1x512x14x14xf32>, %w: tensor<128x512x1x1xf32>) -> tensor<1x1x14x14xf32> {
  %0 = dataflow.tanh %x : (tensor<1x512x14x14xf32>) -> tensor<1x512x14x14xf32>
  %1 = dataflow.conv %0, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x512x14x14xf32>, tensor<128x512x1x1xf32>) -> tensor<1x128x14x14xf32>
  %2 = dataflow.reduce sum %1 axes [1] : (tensor<1x128x14x14xf32>) -> tensor<1x1x14x14xf32>
  func.return %2 : tensor<1x1x14x14xf32>
}
"""


def test_both_halves_of_a_split_task_count_as_one() -> None:
    from meshloom.chips import load_chip
    from meshloom.lowering.driver.compile_module import compile_module
    from meshloom.lowering.driver.order_costs import measured_profiles

    chip = load_chip("edge")
    module = parse(FEW_POSITIONS)
    DataflowToManycorePass().apply(Context(), module)
    tasks = names(module)
    sources = compile_module(module.clone(), chip).executable.source_names
    assert len(sources) == len(tasks) + 1  # the convolution is split, and a second task adds the parts
    cut = measured_profiles(module, chip)
    assert list(cut.names) == tasks
    used = cut.busy[:, [cut.unit_names.index("MPU"), cut.unit_names.index("VPU")]] > 0
    assert used.tolist() == [[False, True], [True, True], [False, True]]
