"""Tests of `meshloom.testing`, the functions for tests of plug-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution import interpret
from meshloom.dialects.dataflow import NegOp
from meshloom.support.errors import InputError
from xdsl.ir import Operation, SSAValue

from meshloom.testing import RandomNetwork, check_on_chip, run_filecheck

MODULE = """\
func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %0 = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = dataflow.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_a_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "twice.mlir"
    file.write_text(
        "// DEFINE: %{passes} = -p canonicalize\n// RUN: meshloom-opt %s %{passes} -t %how | filecheck %s\n"
        f"// CHECK: y: tensor<4xf32> = [-3., -2., -1., 0.]\n{MODULE}"
    )
    assert "Passed" in run_filecheck(file, {"%how": "'interpret{inputs=iota}'"})


def test_a_failed_check_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "wrong.mlir"
    file.write_text(f"// RUN: meshloom-opt %s | filecheck %s\n// CHECK: dataflow.abs\n{MODULE}")
    with pytest.raises(AssertionError, match=r"dataflow\.abs"):
        run_filecheck(file)


def test_a_file_that_checks_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "nothing.mlir"
    file.write_text(f"// RUN: meshloom-opt %s\n{MODULE}")
    with pytest.raises(AssertionError, match="nothing is checked"):
        run_filecheck(file)
    with pytest.raises(InputError, match="no such file"):
        run_filecheck(tmp_path / "none.mlir")


def _minus(random: np.random.Generator, x: SSAValue) -> Operation | None:
    return NegOp(x)


def test_random_networks_with_operations_of_plugins_run_on_the_chip() -> None:
    network = RandomNetwork(3, 6, [_minus] * 40)
    assert sum(isinstance(op, NegOp) for op in network.module.walk()) > 2
    assert str(network.module) == str(RandomNetwork(3, 6, [_minus] * 40).module)
    before = str(network.module)
    assert check_on_chip(network.module, effort="fast").cycles > 0
    assert str(network.module) == before


def test_a_difference_from_the_interpreter_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "twice.mlir"
    file.write_text(MODULE)
    assert set(check_on_chip(file).outputs) == {"y"}
    run = interpret.run_main

    def another(*given: Any) -> dict[str, np.ndarray]:
        return {name: value + np.float32(1) for name, value in run(*given).items()}

    monkeypatch.setattr(interpret, "run_main", another)
    with pytest.raises(AssertionError, match="output 'y' differs from the interpreter's by up to 1"):
        check_on_chip(file)
