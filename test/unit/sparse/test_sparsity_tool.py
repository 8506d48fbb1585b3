"""Tests of `meshloom-sparsity`: the table, and errors in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.tools.sparsity import main

ROOT = Path(__file__).resolve().parents[3]
MODULE = """
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xi32> {
  %w = dataflow.constant dense<[[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3]]> : tensor<4x4xi8>
  %y = dataflow.matmul %x, %w : (tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi32>
  func.return %y : tensor<1x4xi32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.mlir"
    path.write_text(MODULE)
    return str(path)


def test_table(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([model]) == 0
    head, line, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["weights", "shape", "type", "density", "encoding", "dense", "bytes", "bytes", "smaller"]
    # 16 bits of index and two values are 4 bytes, instead of 16.
    assert line.split() == ["w", "4x4", "i8", "0.125", "direct", "16", "4", "4.00"]
    assert total.split() == ["all", "16", "4", "4.00"]


def test_balanced_pruning(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    # Two weights of 16, of different output neurons: 16 bits of index and two values.
    assert main([model, "--prune", "0.125", "--method", "balanced"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["w", "4x4", "i8", "0.125", "direct", "16", "4", "4.00"]
    assert main([model, "--method", "balanced"]) == 2
    assert "--method balanced selects the weights of --prune: give --prune DENSITY" in capsys.readouterr().err


def test_cycles(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([model, "--chip", "tiny"]) == 0
    _, line, _ = capsys.readouterr().out.splitlines()
    # Four inputs are one block of the matrix unit, dense or encoded: there is no gain.
    assert line.split()[4] == "dense"
    assert line.endswith("  1.00  the best encoding (stride2) takes 0.93 x the dense cycles")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "1,x"], "--groups 1,x: expected sizes such as 1,16"),
        (["--chip", "nowhere"], "nowhere"),
        (["--prune", "2"], "density=2.0: expected a number from 0 to 1"),
        (["--threshold", "-1"], "--threshold -1.0: expected a finite number"),
    ],
)
def test_errors(model: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([model, *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
