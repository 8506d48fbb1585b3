"""Products with weights that cores widen: the memory for widened pieces, and results in many steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.widening import slice_buffer_bytes, slice_rows, widened_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.driver.compile_module import compile_module
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser


@pytest.mark.parametrize("depth", [1, 31, 64, 65, 100, 5000])
@pytest.mark.parametrize("row_bytes", [4, 96, 260, 3000])
def test_two_pieces_fit_for_any_part_of_the_operand(depth: int, row_bytes: int) -> None:
    room = widened_bytes(depth, row_bytes)
    for part in {1, depth // 3 + 1, depth}:
        for narrower in {4, row_bytes // 2 + 2, row_bytes}:
            rows = slice_rows(part, narrower, 32)
            assert rows * narrower <= slice_buffer_bytes(part, narrower)
            assert 2 * slice_buffer_bytes(part, narrower) <= room
            assert rows == part or rows % 32 == 0


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def product(rows: int, depth: int, columns: int) -> ModuleOp:
    types = f"tensor<{rows}x{depth}xf32>", f"tensor<{depth}x{columns}xi8>", f"tensor<{rows}x{columns}xf32>"
    return parsed(f"""func.func @main(%x: {types[0]} {{dataflow.name = "x"}}, %w: {types[1]} {{dataflow.name = "w"}})
        -> ({types[2]} {{dataflow.name = "y"}}) {{
      %y = dataflow.matmul %x, %w : ({types[0]}, {types[1]}) -> {types[2]}
      func.return %y : {types[2]}
    }}""")


@pytest.mark.parametrize(
    "sram_bytes", [6 << 10, *(pytest.param(kib << 10, marks=pytest.mark.slow) for kib in (16, 64))], ids=str
)
@pytest.mark.parametrize("sizes", [(1, 700, 90), (5, 129, 33), pytest.param((40, 1000, 200), marks=pytest.mark.slow)])
def test_weights_that_take_many_steps_are_widened_in_pieces(sizes: tuple[int, int, int], sram_bytes: int) -> None:
    rows, depth, columns = sizes
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth), np.float32)
    w = rng.integers(-128, 128, (depth, columns), np.int8)
    executable = compile_module(product(*sizes), replace(load_chip("tiny"), sram_bytes=sram_bytes)).executable
    result = run_functional(executable, {"x": x, "w": w}, check=True).outputs["y"]
    expected = x.astype(np.float64) @ w
    assert np.abs(result - expected).max() <= 1e-5 * np.abs(expected).max()
