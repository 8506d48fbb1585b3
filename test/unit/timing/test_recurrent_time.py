"""Tests of the reference time of networks with loops: its formulas, and the compiler's notes for it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from meshloom.analysis.recurrent_work import recurrent_layers
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.module_notes import notes_of
from meshloom.emulator.executable.build import Assembly
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.reports.recurrent_layers import (
    NOTE,
    RecurrentLayer,
    VectorWork,
    layers_as_json,
    layers_from_json,
)
from meshloom.emulator.reports.recurrent_time import exchange, hops_across, layer_cycles, longest_chain, reference_time
from meshloom.emulator.reports.roofline import Work
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.api import compile
from meshloom.tools.report.summary import summary
from meshloom.transforms.dataflow_hoist_from_loops import hoist_from_loops
from meshloom.transforms.dataflow_note_loops import note_loops
from meshloom.transforms.dataflow_unroll_loops import DataflowUnrollLoopsPass
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

EDGE = load_chip("edge")
LAYER = RecurrentLayer(
    48, 65_536, 256, (VectorWork(256, 1, 1, ()), VectorWork(64, 4, 1, (0,)), VectorWork(64, 1, 1, (0,)))
)

RECURRENCE = """
func.func @main(%x: tensor<3x1x4xf32> {dataflow.name = "x"}, %w: tensor<4x4xf32> {dataflow.name = "w"},
                %o: tensor<4x9xf32> {dataflow.name = "o"})
    -> (tensor<3x1x9xf32> {dataflow.name = "y"}, tensor<1x4xf32> {dataflow.name = "h"}) {
  %0 = dataflow.constant dense<1.000000e+00> : tensor<1x4xf32>
  %h, %k, %y = dataflow.loop 3 steps carry(%a = %0 : tensor<1x4xf32>, %b = %0 : tensor<1x4xf32>)
      scan(%row = %x axis 0 : tensor<3x1x4xf32>) stack(axis 0 : tensor<3x1x9xf32>) {
    %1 = dataflow.relu %row : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %2 = dataflow.matmul %a, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %3 = dataflow.add %1, %2 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %4 = dataflow.tanh %3 : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %5 = dataflow.add %4, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %6 = dataflow.matmul %4, %o : (tensor<1x4xf32>, tensor<4x9xf32>) -> tensor<1x9xf32>
    dataflow.yield %4, %5, %6 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x9xf32>
  }
  func.return %y, %h : tensor<3x1x9xf32>, tensor<1x4xf32>
}
"""


def _module(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_hops_are_those_of_the_smallest_rectangle() -> None:
    """The smallest rectangles on 4 x 4 cores are 1, 2 x 1, 2 x 2, 2 x 3, 3 x 3 and 4 x 4."""
    assert [hops_across(EDGE, cores) for cores in (1, 2, 4, 5, 6, 9, 16)] == [0, 1, 2, 3, 3, 4, 6]
    flat = replace(EDGE, rows=1, cols=16)
    assert hops_across(flat, 16) == 15


def test_exchange_is_hops_and_a_message_of_each_core() -> None:
    assert exchange(EDGE, 256, 1) == 0
    assert exchange(EDGE, 0, 16) == 0
    # 6 hops of 2 cycles; 16 messages of 256 / 16 bytes, each one cycle of a link of 32 bytes; 2 to start and end
    assert exchange(EDGE, 256, 16) == 6 * 2 + 16 * 1 + 2
    # 2 hops; 4 messages of 64 bytes, two cycles each
    assert exchange(EDGE, 256, 4) == 2 * 2 + 4 * 2 + 2


def test_longest_chain_waits_for_its_operands() -> None:
    # 256 elements on one core of 32 lanes take 4 + 8, then 64 in 4 passes 4 + 2 * 4. The other chain ends earlier.
    assert longest_chain(EDGE, LAYER, 1) == 12 + 12
    # with 16 and 4 elements per core: 4 + 1, 4 + 4
    assert longest_chain(EDGE, LAYER, 16) == 5 + 8
    half = replace(LAYER, operations=(VectorWork(128, 1, 2, ()),))
    assert longest_chain(EDGE, half, 1) == 4 + 2  # 64 elements of f16 per cycle


def test_reference_time_is_the_largest_part() -> None:
    """The time is that of the limiting part: 16 cores read weights in 65,536 / (16 * 128) = 32 cycles, one in 512."""
    assert layer_cycles(EDGE, LAYER, 16) == 48 * (32 + 13 + 30)
    assert layer_cycles(EDGE, LAYER, 1) == 48 * (512 + 24)
    found = reference_time(EDGE, Work(macs=16_384, vpu_ops=512, dram_bytes=12_800), [LAYER, LAYER])
    assert (found.steps, found.cores, found.binding) == (2 * 3_600, 16, "steps")
    assert found.dram == 12_800 / 128 + 100
    assert found.units == 16_384 / (16 * 1024)
    loaded = reference_time(EDGE, Work(dram_bytes=12_800_000), [LAYER])
    assert (loaded.cycles, loaded.binding) == (100_100, "DRAM")


def test_small_layers_are_faster_on_one_core() -> None:
    """2,048 bytes take 16 cycles on one core, without an exchange; on two cores 8, and 12 for the exchange."""
    layer = RecurrentLayer(10, 2_048, 256, ())
    found = reference_time(EDGE, Work(), [layer])
    assert (found.cores, found.steps) == (1, 10 * 16)
    assert layer_cycles(EDGE, layer, 2) == 10 * (8 + 1 * 2 + 2 * 4 + 2)


def test_only_operations_between_carried_values_are_work_of_steps() -> None:
    """
    Only operations on the path between carried values count as work of a step.

    These are the product with 16 weights that carried values wait for, then add, tanh and add. The other product, and
    operations on x such as relu, are computed before. One carried value is an operand of a product.
    """
    (layer,) = recurrent_layers(find_main(_module(RECURRENCE)))
    assert (layer.steps, layer.weight_bytes, layer.carried_bytes) == (3, 16 * 4, 4 * 4)
    assert [(op.points, op.after) for op in layer.operations] == [(4, ()), (4, (0,)), (4, (1,))]
    assert [op.passes for op in layer.operations] == [1, 4, 1]


def test_independent_loops_are_one_layer() -> None:
    step = "dataflow.matmul %{0}, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"

    def loop(result: str, start: str, carried: str, steps: int = 5) -> str:
        return f"""
        %{result} = dataflow.loop {steps} steps carry(%{carried} = %{start} : tensor<2x2xf32>) {{
          %1 = {step.format(carried)}
          dataflow.yield %1 : tensor<2x2xf32>
        }}"""

    head = "func.func @main(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {"
    tail = "func.return %d : tensor<2x2xf32> }"
    joined = "%c = dataflow.add %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"
    text = head + loop("a", "x", "p") + loop("b", "x", "q") + joined + loop("d", "c", "r") + tail
    first, second = recurrent_layers(find_main(_module(text)))
    assert (first.weight_bytes, second.weight_bytes) == (2 * 16, 16)
    assert (first.carried_bytes, second.carried_bytes) == (2 * 16, 16)
    longer = head + loop("a", "x", "p") + loop("b", "x", "q", 7) + joined + loop("d", "c", "r") + tail
    assert [layer.steps for layer in recurrent_layers(find_main(_module(longer)))] == [5, 7, 5]


def test_nested_loops_have_the_product_of_their_steps() -> None:
    text = """
    func.func @main(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %r = dataflow.loop 3 steps carry(%a = %x : tensor<2x2xf32>) {
        %0 = dataflow.tanh %a : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %s = dataflow.loop 4 steps carry(%b = %0 : tensor<2x2xf32>) {
          %1 = dataflow.matmul %b, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
          dataflow.yield %1 : tensor<2x2xf32>
        }
        dataflow.yield %s : tensor<2x2xf32>
      }
      func.return %r : tensor<2x2xf32>
    }"""
    outer, inner = recurrent_layers(find_main(_module(text)))
    assert (outer.steps, outer.weight_bytes, len(outer.operations)) == (3, 0, 1)
    assert (inner.steps, inner.weight_bytes, len(inner.operations)) == (12, 16, 0)


def test_loops_without_carried_values_or_steps_are_no_layers() -> None:
    text = """
    func.func @main(%x: tensor<3x2xf32>, %z: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
      %y = dataflow.loop 3 steps scan(%a = %x axis 0 : tensor<3x2xf32>) stack(axis 0 : tensor<3x2xf32>) {
        %0 = dataflow.tanh %a : (tensor<2xf32>) -> tensor<2xf32>
        dataflow.yield %0 : tensor<2xf32>
      }
      %r = dataflow.loop 0 steps carry(%b = %z : tensor<2xf32>) {
        %1 = dataflow.tanh %b : (tensor<2xf32>) -> tensor<2xf32>
        dataflow.yield %1 : tensor<2xf32>
      }
      func.return %y, %r : tensor<3x2xf32>, tensor<2xf32>
    }"""
    module = _module(text)
    assert recurrent_layers(find_main(module)) == []
    note_loops(module)
    assert NOTE not in notes_of(module)


def test_the_note_is_kept_by_unrolling_and_in_the_executable() -> None:
    module = _module(RECURRENCE)
    hoist_from_loops(module)
    layers = recurrent_layers(find_main(module))
    note_loops(module)
    DataflowUnrollLoopsPass().apply(Context(), module)
    note_loops(module)
    assert layers_from_json(notes_of(module)[NOTE]) == layers
    exe = compile(_module(RECURRENCE), "tiny").executable
    assert layers_from_json(exe.notes[NOTE]) == layers
    stats = collect(exe, run_timing(exe))
    found = stats["reference"]
    assert found["ratio"] == stats["cycles"] / found["cycles"]
    assert f"the reference time of {found['cycles']:,.0f}" in summary("net", exe, stats)


def test_executables_without_the_note_have_no_reference_time() -> None:
    exe = replace(Assembly(EDGE).build(), notes={"ideal": json.dumps({"macs": 1})})
    assert "reference" not in collect(exe, run_timing(exe))
    assert layers_from_json(layers_as_json([LAYER])) == [LAYER]
    for text in ("7", "[[1, 2]]", "[[1, 2, 3, [[1, 1, 1, [0]]]]]", "[[-1, 0, 0, []]]", "{"):
        bad = replace(exe, notes=exe.notes | {NOTE: text})
        with pytest.raises(EmulationError, match="note 'loops'"):
            collect(bad, run_timing(bad))
