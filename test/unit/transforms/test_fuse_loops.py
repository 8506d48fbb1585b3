"""Tests of the fusion of loops: loops are fused if they are independent and their constants fit."""

from __future__ import annotations

import pytest
from meshloom.dialects.dataflow import LoopOp
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.lowering.ir.module_text import module_of_text
from meshloom.transforms.shared.fuse_loops import fuse_loops

ROOM = 1 << 20


def fused(text: str, room: int = ROOM) -> int:
    """The number of loops after fusion in a body of `@main`, which returns one vector."""
    function = f"""
    func.func @main(%x: tensor<9x2xf32>, %h0: tensor<2xf32>) -> tensor<2xf32> {{
      {text}
    }}"""
    module = module_of_text(function)
    fuse_loops(find_main(module).body.block, lambda loop: True, room)
    module.verify()
    return sum(isinstance(op, LoopOp) for op in module.walk())


def loop(name: str, begin: str = "%h0", weights: str = "%h0") -> str:
    return f"""
    %{name} = dataflow.loop 9 steps carry(%h = {begin} : tensor<2xf32>) scan(%row = %x axis 0 : tensor<9x2xf32>) {{
      %s = dataflow.add %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %t = dataflow.mul %s, {weights} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      dataflow.yield %t : tensor<2xf32>
    }}"""


NEG = "%n = dataflow.neg %a : (tensor<2xf32>) -> tensor<2xf32>"
RETURN = """
    %sum = dataflow.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    func.return %sum : tensor<2xf32>"""


def test_independent_loops() -> None:
    assert fused(loop("a") + loop("b") + RETURN) == 1


@pytest.mark.parametrize(("begin", "weights"), [("%a", "%h0"), ("%n", "%h0"), ("%h0", "%a"), ("%h0", "%n")])
def test_dependent_loops(begin: str, weights: str) -> None:
    """A loop that depends on another, initially or in its steps, directly or through an operation, is not fused."""
    assert fused(loop("a") + NEG + loop("b", begin, weights) + RETURN) == 2


@pytest.mark.parametrize(("room", "left"), [(16, 1), (15, 2)])
def test_constants_of_all_steps_have_to_fit(room: int, left: int) -> None:
    constants = "".join(f"%{name} = dataflow.constant dense<{name[1]}.5> : tensor<2xf32>\n" for name in ("w1", "w2"))
    assert fused(constants + loop("a", weights="%w1") + loop("b", weights="%w2") + RETURN, room) == left


def test_constants_that_both_read_count_once() -> None:
    constant = "%w = dataflow.constant dense<0.5> : tensor<2xf32>\n"
    assert fused(constant + loop("a", weights="%w") + loop("b", weights="%w") + RETURN, 8) == 1


def test_more_than_two() -> None:
    more = "%m = dataflow.add %b, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    assert fused(loop("a") + loop("b") + loop("c") + more + RETURN) == 1
