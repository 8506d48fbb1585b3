"""Tests of the achievable time: its formulas, against numbers computed by hand, and the compiler's notes for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TypeAlias

import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.module_notes import notes_of
from meshloom.emulator.executable.build import Assembly
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.reports.achievable import achievable, achievable_of, layer_cycles, layer_ends, product_cycles
from meshloom.emulator.reports.network_layers import NOTE, NetworkLayer, layers_as_json, layers_from_json
from meshloom.lowering.launch.layer_work import network_layers
from meshloom.tools.api import compile
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

Product: TypeAlias = tuple[int, int, int, int]
TINY = load_chip("tiny")
"""2 x 2 cores with arrays of 8 x 8, 8 lanes, 64 KiB; DRAM of 8 bytes per cycle with a latency of 100."""

NETWORK = """
func.func @main(%x: tensor<4x16xf32> {dataflow.name = "x"}) -> (tensor<4x24xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<16x24xf32>
  %v = dataflow.constant dense<0.25> : tensor<24x24xf16>
  %0 = dataflow.matmul %x, %w : (tensor<4x16xf32>, tensor<16x24xf32>) -> tensor<4x24xf32>
  %1 = dataflow.relu %0 : (tensor<4x24xf32>) -> tensor<4x24xf32>
  %2 = dataflow.cast %1 : (tensor<4x24xf32>) -> tensor<4x24xf16>
  %3 = dataflow.matmul %2, %v : (tensor<4x24xf16>, tensor<24x24xf16>) -> tensor<4x24xf16>
  %4 = dataflow.cast %3 : (tensor<4x24xf16>) -> tensor<4x24xf32>
  func.return %4 : tensor<4x24xf32>
}
"""


def layer(
    product: tuple[int, int, int, int], loaded: int, ops: int = 0, stored: int = 0, held: int = 0
) -> NetworkLayer:
    return NetworkLayer(product, 1, ops, loaded, stored, held)


def _module(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def test_a_product_is_divided_along_the_fastest_dimension() -> None:
    """
    A product is divided over the cores along the dimension that takes the fewest cycles.

    A block of 8 x 8 weights takes 22 cycles, and one per row. 32 columns are 4 blocks, one for each core: 100 + 22 - 1.
    With one block of columns, rows are divided: 25 for each core. With one row, 32 inputs are divided: 1 + 22 - 1, and
    8 sums of 4 parts, of which each core adds 3/4 with 8 lanes.
    """
    assert product_cycles(TINY, 1, (1, 100, 8, 32)) == 121
    assert product_cycles(TINY, 1, (1, 100, 8, 8)) == 25 + 22 - 1
    assert product_cycles(TINY, 1, (1, 1, 32, 8)) == 22 + 8 * 3 / 4 / 8
    assert product_cycles(TINY, 1, (4, 10, 8, 8)) == 10 + 22 - 1


def test_a_layer_uses_the_faster_unit() -> None:
    """A layer uses the faster unit: one row of 8 x 8 weights takes 22 cycles on a matrix unit, 2 on 4 x 8 lanes."""
    assert layer_cycles(TINY, layer((1, 1, 8, 8), 0)) == 2
    assert layer_cycles(TINY, layer((1, 100, 8, 8), 0, ops=640)) == 46
    assert layer_cycles(TINY, layer((1, 100, 8, 8), 0, ops=6400)) == 200
    assert layer_cycles(TINY, layer((1, 100, 8, 8), 0), filled=True) == 25


def test_loads_run_ahead_as_far_as_sram_allows() -> None:
    """
    Weights are loaded ahead as far as SRAM allows.

    Three layers of 1,000 cycles have 1,600 bytes each, which take 200 cycles of DRAM and arrive at 300, 500 and 700:
    the layers compute without a pause. Loads of 20,000 cycles determine the time. If the SRAM holds the weights of one
    layer only, those of the second are loaded after the end of the first, at 300, and those of the third after the
    second.
    """
    layers = [layer((0, 0, 0, 0), 1600, ops=32_000)] * 3
    computing = [layer_cycles(TINY, one) for one in layers]
    assert computing == [1000, 1000, 1000]
    assert layer_ends(TINY, layers, computing) == [1000, 2000, 3000]
    large = [layer((0, 0, 0, 0), 160_000, ops=32_000)] * 3
    assert layer_ends(TINY, large, computing) == [20_100, 40_100, 60_100]
    assert layer_ends(replace(TINY, sram_bytes=500), layers, [100, 300, 100]) == [300, 600, 800]
    found = achievable(TINY, [*layers, layer((1, 100, 8, 8), 0, stored=80)])
    assert (found.cycles, found.peak, found.filling, found.loads, found.results) == (3156, 3025, 21, 0, 110)
    assert [(one.peak, one.filling, one.loads) for one in found.layers] == [(1000, 0, 0)] * 3 + [(25, 21, 0)]
    found = achievable(TINY, large)
    assert [(one.peak, one.filling, one.loads) for one in found.layers] == [(1000, 0, 19_100), *[(1000, 0, 19_000)] * 2]
    assert [one.number for one in found.longest(2)] == [0, 1]


def test_layers_of_a_network() -> None:
    """
    Each product is a layer, with the bytes that it loads, stores and holds.

    The first layer loads the inputs (256 bytes) and the first weights (1,536). Its result, 384 bytes, is held together
    with the one in f16; relu and both casts have 96 elements each, which count half in f16.
    """
    first, second = network_layers(find_main(_module(NETWORK)))
    assert first.product == (1, 4, 16, 24)
    assert second.product == (1, 4, 24, 24)
    assert (first.loaded_bytes, second.loaded_bytes) == (4 * 4 * 16 + 4 * 16 * 24, 2 * 24 * 24)
    assert (first.stored_bytes, second.stored_bytes) == (0, 384)
    assert (first.rate, second.rate) == (1, 2)
    assert first.held_bytes == 384 * 2
    assert layers_from_json(layers_as_json([first, second])) == [first, second]


def test_executables_carry_their_layers() -> None:
    module = _module(NETWORK)
    exe = compile(module, "tiny").executable
    assert layers_from_json(exe.notes[NOTE]) == network_layers(find_main(_module(NETWORK)))
    assert achievable_of(exe) is not None
    assert NOTE not in notes_of(_module(NETWORK))
    assert achievable_of(Assembly(TINY).build()) is None


@pytest.mark.parametrize("text", ["{", "1", "[[1]]", json.dumps([[[1, 2, 3, -4], 1, 0, 0, 0, 0, 1]])])
def test_a_damaged_note_is_refused(text: str) -> None:
    exe = replace(Assembly(TINY).build(), notes={NOTE: text})
    with pytest.raises(EmulationError, match="note 'layers' of the executable is not a list of layers"):
        achievable_of(exe)


def test_the_first_operation_may_have_no_operands() -> None:
    """An iota comes first; the products of 8 i32 elements with a constant are vector operations at the rate of f32."""
    module = _module("""
    func.func @main() -> (tensor<8xi32> {dataflow.name = "y"}) {
      %i = dataflow.iota axis 0 : tensor<8xi32>
      %c = dataflow.constant dense<3> : tensor<i32>
      %y = dataflow.mul %i, %c : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
      func.return %y : tensor<8xi32>
    }
    """)
    (layer,) = network_layers(find_main(module))
    assert layer.product == (0, 0, 0, 0)
    assert layer.vector_ops >= 8
