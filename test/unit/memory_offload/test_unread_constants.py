"""Constants without a reader in a subgraph, as passes may leave them, and immediates have no segment in the code."""

from __future__ import annotations

from pathlib import Path

from meshloom.chips import load_chip
from meshloom.dialects.dataflow import ConstantOp
from meshloom.dialects.manycore import SubgraphOp
from meshloom.lowering.cache.compile_cache import cache_for
from meshloom.lowering.offload.compiled_launches import CompiledLaunches
from meshloom.lowering.options.effort import EFFORTS
from meshloom.tools.read_module import read_module
from xdsl.dialects.builtin import IntAttr

TYPE = "tensor<8x16xf32>"
TEXT = f"""
func.func @main(%x: {TYPE}) -> {TYPE} {{
  %h = manycore.subgraph @h(%a = %x : {TYPE}) -> {TYPE} {{
    %unread = dataflow.constant dense<5.0> : tensor<3xf32>
    %two = dataflow.constant dense<2.0> : tensor<f32>
    %steps = dataflow.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]> : tensor<8x1xf32>
    %0 = dataflow.mul %a, %two : ({TYPE}, tensor<f32>) -> {TYPE}
    %1 = dataflow.add %0, %steps : ({TYPE}, tensor<8x1xf32>) -> {TYPE}
    manycore.yield %1 : {TYPE}
  }}
  func.return %h : {TYPE}
}}
"""


def test_constants_are_those_of_the_code(tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(TEXT)
    (subgraph,) = [op for op in read_module(tmp_path / "net.mlir", {}).walk() if isinstance(op, SubgraphOp)]
    chip = load_chip("tiny")
    launches = CompiledLaunches(chip, cache_for(chip, EFFORTS["fast"]))
    subgraph.attributes[CompiledLaunches.NUMBER] = IntAttr(launches.add(subgraph))
    found = launches.of_subgraph(subgraph)
    assert [one.results[0].name_hint for one in found.constants if isinstance(one, ConstantOp)] == ["steps"]
    # A segment for each constant, for the argument and the result, and one for internal values.
    assert len(found.code.segments) == len(found.constants) + 3
