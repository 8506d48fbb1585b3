"""Values without elements in passes and in the compiler: sums over no elements are 0, and empty tiles are no work."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.tools.opt import main

CONV = """func.func @main(%x: tensor<1x3x4x4xf32>) -> (tensor<1x0x4x4xf32> {dataflow.name = "y"}) {
  %v = dataflow.constant dense<> : tensor<0x3x1x1xf32>
  %0 = dataflow.conv %x, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x3x4x4xf32>, tensor<0x3x1x1xf32>) -> tensor<1x0x4x4xf32>
  func.return %0 : tensor<1x0x4x4xf32>
}
"""
ROWS = """func.func @main(%x: tensor<0x4xi32> {dataflow.name = "x"}) -> (tensor<0x2xi32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<3> : tensor<4x2xi32>
  %y = dataflow.matmul %x, %w : (tensor<0x4xi32>, tensor<4x2xi32>) -> tensor<0x2xi32>
  func.return %y : tensor<0x2xi32>
}
"""
SPARSE = """func.func @main(%x: tensor<2x{0}xf32>) -> (tensor<2x{1}xf32> {{dataflow.name = "y"}}) {{
  %w = dataflow.constant dense<> : tensor<{0}x{1}xf32>
  %0 = sparse.encode %w : tensor<{0}x{1}xf32> -> tensor<{0}x{1}xf32, #sparse.index<direct, axis = 1>>
  %y = sparse.matmul %x, %0
      : (tensor<2x{0}xf32>, tensor<{0}x{1}xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x{1}xf32>
  func.return %y : tensor<2x{1}xf32>
}}
"""
MEAN = """func.func @main(%x: tensor<5x0xf32> {dataflow.name = "x"}) -> (tensor<5x0xf32> {dataflow.name = "y"}) {
  %e = dataflow.exp %x : (tensor<5x0xf32>) -> tensor<5x0xf32>
  %s = dataflow.reduce sum %e axes [0] : (tensor<5x0xf32>) -> tensor<1x0xf32>
  %y = dataflow.sub %e, %s : (tensor<5x0xf32>, tensor<1x0xf32>) -> tensor<5x0xf32>
  func.return %y : tensor<5x0xf32>
}
"""
TASKS = """func.func @main(%x: tensor<0x6xf32>, %w: tensor<6x0xf32>) -> (tensor<0x0xf32> {dataflow.name = "y"}) {
  %a = dataflow.matmul %x, %w : (tensor<0x6xf32>, tensor<6x0xf32>) -> tensor<0x0xf32>
  %b = dataflow.reduce max %a axes [1] : (tensor<0x0xf32>) -> tensor<0x1xf32>
  %c = dataflow.sub %a, %b : (tensor<0x0xf32>, tensor<0x1xf32>) -> tensor<0x0xf32>
  func.return %c : tensor<0x0xf32>
}
"""
VALUES_WITHIN_A_TASK = """func.func @main(%x: tensor<0x4xf32>) -> (tensor<0x1xf32> {dataflow.name = "y"}) {
  %sum = dataflow.reduce sum %x axes [1] : (tensor<0x4xf32>) -> tensor<0x1xf32>
  %exp = dataflow.exp %sum : (tensor<0x1xf32>) -> tensor<0x1xf32>
  %neg = dataflow.neg %sum : (tensor<0x1xf32>) -> tensor<0x1xf32>
  %y = dataflow.add %exp, %neg : (tensor<0x1xf32>, tensor<0x1xf32>) -> tensor<0x1xf32>
  func.return %y : tensor<0x1xf32>
}
"""
TO_MEMORY = "dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory"


@pytest.mark.parametrize(
    ("text", "passes", "shape"),
    [
        (CONV, TO_MEMORY, (1, 0, 4, 4)),
        (ROWS, TO_MEMORY, (0, 2)),
        (SPARSE.format(4, 0), "sparse-pack{chip=tiny}", (2, 0)),
        (TASKS, TO_MEMORY, (0, 0)),
        (VALUES_WITHIN_A_TASK, TO_MEMORY, (0, 1)),
        (MEAN, "dataflow-split-batch{parts=2}", (5, 0)),
    ],
    ids=["channels", "rows", "outputs-of-sparse", "tasks", "values-within-a-task", "frames"],
)
def test_passes_and_compiler_support_values_without_elements(
    text: str, passes: str, shape: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.mlir").write_text(text)
    for arguments in (["-p", passes, "-t", "interpret"], ["-t", "emulate{chip=tiny}"]):
        assert main([str(tmp_path / "in.mlir"), *arguments]) == 0, capsys.readouterr().err
        printed = capsys.readouterr().out
        assert f"<{'x'.join(map(str, shape))}x" in printed.partition(" = ")[0]
        # numpy prints no digit for an empty array, and only the digit 0 for an array of zeros.
        assert set(printed.partition(" = ")[2].partition("shape")[0]) & set("123456789") == set()


def test_products_over_an_empty_axis_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In textual IR they are refused, as they have no iteration space; the importer replaces them by zeros."""
    (tmp_path / "in.mlir").write_text(SPARSE.format(0, 3))
    assert main([str(tmp_path / "in.mlir"), "-p", "sparse-pack{chip=tiny}", "-t", "interpret"]) == 2
    assert "K is 0, expected at least 1" in capsys.readouterr().err
