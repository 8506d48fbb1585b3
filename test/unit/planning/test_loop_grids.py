"""Tests of grids of tasks in loops: independent chains may have separate cores."""

from __future__ import annotations

from meshloom.analysis.planning.loop_grids import LoopGrids, loop_grids
from meshloom.analysis.planning.loops import spans_of, tasks_in
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

EDGE = load_chip("edge")
HEAD = """
    func.func @main(%a: tensor<64x1x32xf32>, %b: tensor<64x1x32xf32>, %w: tensor<32x32xf32>) -> tensor<1x32xf32> {
      %zero = dataflow.constant dense<0.0> : tensor<1x32xf32>
      %p = dataflow.tanh %a : (tensor<64x1x32xf32>) -> tensor<64x1x32xf32>
      %q = dataflow.tanh %b : (tensor<64x1x32xf32>) -> tensor<64x1x32xf32>
"""


def grids_of(body: str) -> tuple[dict[str, int], list[LoopGrids]]:
    """The numbers of the tasks of a function with the operations `body` after `HEAD`, and the grids tried for them."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    function = find_main(Parser(context, HEAD + body + "}").parse_module())
    lower_block(function.body.block)
    tasks = [TaskInfo.of(task) for task in tasks_in(function)]
    names = {info.name: number for number, info in enumerate(tasks)}
    return names, loop_grids(tasks, spans_of(tasks), EDGE, column_major(EDGE))


STEP = """
    %{n}m = dataflow.matmul %{h}, %w : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
    %{n}s = dataflow.add %{n}m, %{x} : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    %{n} = dataflow.tanh %{n}s : (tensor<1x32xf32>) -> tensor<1x32xf32>
"""
LOOP = """
    %f, %g = dataflow.loop 64 steps
      carry(%h = %zero : tensor<1x32xf32>, %k = %zero : tensor<1x32xf32>)
      scan(%x = %p axis 0 : tensor<64x1x32xf32>, %y = %q axis 0 backwards : tensor<64x1x32xf32>) {{
        {steps}
        dataflow.yield %u, %v : tensor<1x32xf32>, tensor<1x32xf32>
    }}
    %r = dataflow.add %f, %g : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    func.return %r : tensor<1x32xf32>
"""


def test_chains_are_tried_on_separate_cores() -> None:
    names, found = grids_of(LOOP.format(steps=STEP.format(n="u", h="h", x="x") + STEP.format(n="v", h="k", x="y")))
    apart = [one for one in found if one.cores]
    # Each of two chains has at most 8 of the 16 cores.
    assert max(len(one.tilings[names["cast"]].cores) for one in apart) == 8
    for one in apart:
        first, second = one.cores[names["um"]], one.cores[names["vm"]]
        assert not set(first) & set(second)
        # The initial value of a chain and the values that it scans are computed on the cores of the chain.
        assert one.tilings[names["cast"]].cores == first
        assert one.tilings[names["cast.1"]].cores == second
        assert one.cores[names["p"]] == first
        assert one.cores[names["q"]] == second


def test_dependent_steps_are_one_chain() -> None:
    crossed = STEP.format(n="u", h="h", x="x") + STEP.format(n="v", h="k", x="u")
    assert not any(one.cores for one in grids_of(LOOP.format(steps=crossed))[1])


def test_values_scanned_by_two_chains_belong_to_neither() -> None:
    same = LOOP.replace("%q axis", "%p axis")
    names, found = grids_of(same.format(steps=STEP.format(n="u", h="h", x="x") + STEP.format(n="v", h="k", x="y")))
    apart = [one for one in found if one.cores]
    assert apart
    assert not any(names["p"] in one.cores for one in apart)
