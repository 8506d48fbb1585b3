"""Code of whole tasks: values against the interpreter, on chips where tasks take several steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.driver.compile_module import compile_module
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

LEAKY = """
func.func @main(%x: tensor<96x64xf32> {dataflow.name = "x"}, %w: tensor<64x96xf32> {dataflow.name = "w"},
                %b: tensor<1x96xf32> {dataflow.name = "b"}, %s: tensor<96x96xf32> {dataflow.name = "s"})
    -> (tensor<96x96xf32> {dataflow.name = "y"}) {
  %0 = dataflow.matmul %x, %w : (tensor<96x64xf32>, tensor<64x96xf32>) -> tensor<96x96xf32>
  %1 = dataflow.add %0, %b : (tensor<96x96xf32>, tensor<1x96xf32>) -> tensor<96x96xf32>
  %2 = dataflow.add %s, %1 : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %3 = dataflow.relu %2 : (tensor<96x96xf32>) -> tensor<96x96xf32>
  %4 = dataflow.tanh %2 : (tensor<96x96xf32>) -> tensor<96x96xf32>
  %5 = dataflow.mul %3, %4 : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  func.return %5 : tensor<96x96xf32>
}
"""
"""A product, sums that can be computed before it, and an epilogue that needs memory in addition to the result's."""


@pytest.mark.parametrize("sram_bytes", [5 << 10, 8 << 10, 16 << 10, 64 << 10])
def test_sums_before_the_product(sram_bytes: int) -> None:
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    module = Parser(context, LEAKY).parse_module()
    rng = np.random.default_rng(0)
    shapes = {"x": (96, 64), "w": (64, 96), "b": (1, 96), "s": (96, 96)}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    expected = interpret_function(module, inputs)["y"]
    executable = compile_module(module, replace(load_chip("tiny"), sram_bytes=sram_bytes)).executable
    outputs = run_functional(executable, inputs, check=True).outputs
    np.testing.assert_allclose(outputs["y"], expected, rtol=0, atol=1e-4 * float(np.abs(expected).max()))
