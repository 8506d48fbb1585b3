"""Tests of `--check-semantics`: it reports the first pass whose change of results exceeds its declared effect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from meshloom.analysis.execution.check_semantics import difference
from meshloom.analysis.semantic_effect import EXACT, INTERFACE_CHANGING, SemanticEffect, lossy, reassociating
from meshloom.dialects.dataflow import AddOp, MulOp
from meshloom.support.errors import MeshloomError
from meshloom.tools.opt import MeshloomOpt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

PROGRAM = """
func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %0 = dataflow.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


@dataclass(frozen=True)
class SquareInstead(ModulePass):
    """A wrong pass: x + x becomes x * x."""

    name = "square-instead"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for add in [one for one in op.walk() if isinstance(one, AddOp)]:
            Rewriter.replace_op(add, MulOp(add.lhs, add.rhs))


@dataclass(frozen=True)
class DeclaredSquareInstead(SquareInstead):
    """The same, declared as interface-changing."""

    name = "square-and-say-so"
    semantic_effect: ClassVar[SemanticEffect] = INTERFACE_CHANGING


class OptWithWrongPass(MeshloomOpt):
    """meshloom-opt with the wrong passes registered."""

    def register_all_passes(self) -> None:
        super().register_all_passes()
        self.register_pass("square-instead", lambda: SquareInstead)
        self.register_pass("square-and-say-so", lambda: DeclaredSquareInstead)


def run(path: Path, passes: str) -> None:
    path.write_text(PROGRAM)
    OptWithWrongPass([str(path), "-p", passes, "--check-semantics", "-o", str(path.with_suffix(".out.mlir"))]).run()


def test_the_wrong_pass_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeshloomError, match=r"pass square-instead changed result 'y' \(exact\): \d of 4 elements"):
        run(tmp_path / "a.mlir", "canonicalize,square-instead,cse")
    assert not (tmp_path / "a.out.mlir").exists()


def test_correct_passes_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "a.mlir", "canonicalize,dataflow-to-manycore,cse")
    assert "canonicalize, dataflow-to-manycore, cse kept all results (seed 0)" in capsys.readouterr().err
    assert "manycore.task" in (tmp_path / "a.out.mlir").read_text()


def test_skipped_passes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "a.mlir", "square-and-say-so,cse")
    assert "cse kept all results (seed 0); skipped square-and-say-so (changes the interface)" in capsys.readouterr().err


def test_the_allowed_difference_depends_on_the_semantic_effect() -> None:
    one, two = np.array([1.0, -8.0], "f4"), np.array([1.0, -8.001], "f4")
    assert difference(one, one, EXACT) is None
    assert "1 of 2 elements differ, first at [1]" in str(difference(one, two, EXACT))
    assert difference(one, two, reassociating(1e-3)) is None
    assert "allowed difference 8e-06" in str(difference(one, two, reassociating(1e-6)))
    assert difference(np.array([1]), np.array([2]), reassociating(1.0)) is not None
    assert difference(np.array([1]), np.array([2]), lossy(1.0)) is None
    assert difference(np.array([np.nan]), np.array([np.nan]), EXACT) is None
    assert difference(np.array([0.0]), np.array([-0.0]), EXACT) is not None
