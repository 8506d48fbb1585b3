"""Tests of the detection of scatters of values to known indices of a zero tensor."""

from __future__ import annotations

from pathlib import Path

import pytest
from meshloom.dialects.dataflow import ScatterOp
from meshloom.tools.read_module import read_module
from meshloom.transforms.sparse_encode_stored import placed_values

ROWS = 16


def scatter(indices: str, count: int, folder: Path) -> ScatterOp:
    """A scatter of `count` values into ROWS zeros, at `indices`."""
    path = folder / "scatter.mlir"
    path.write_text(f"""
func.func @main(%v: tensor<{count}xf32>) -> tensor<{ROWS}xf32> {{
  %zero = dataflow.constant dense<0.0> : tensor<{ROWS}xf32>
  %indices = dataflow.constant dense<{indices}> : tensor<{count}xi32>
  %y = dataflow.scatter add %zero, %indices, %v batch 0
      : (tensor<{ROWS}xf32>, tensor<{count}xi32>, tensor<{count}xf32>) -> tensor<{ROWS}xf32>
  func.return %y : tensor<{ROWS}xf32>
}}""")
    (found,) = (op for op in read_module(path, {}).walk() if isinstance(op, ScatterOp))
    return found


@pytest.mark.parametrize(
    ("indices", "count", "expected"),
    [("[3, 0, 15]", 3, {3: 1, 0: 2, 15: 3}), ("[-1, -16]", 2, {15: 1, 0: 2}), ("5", 1, {5: 1})],
)
def test_values_at_known_indices(indices: str, count: int, expected: dict[int, int], tmp_path: Path) -> None:
    """Each position has the number of its value, from 1 on, or 0; negative indices count from the end."""
    placed = placed_values(scatter(indices, count, tmp_path).result)
    assert placed is not None
    assert placed[1].tolist() == [expected.get(row, 0) for row in range(ROWS)]


@pytest.mark.parametrize(
    ("indices", "count"), [("[3, 4096]", 2), ("[16, 0]", 2), ("[-17, 0]", 2), ("[3, 3]", 2), ("[-1, 15]", 2), ("5", 2)]
)
def test_indices_out_of_range_or_repeated(indices: str, count: int, tmp_path: Path) -> None:
    """A scatter with indices out of range or repeated is not detected, as it is an error or adds values up."""
    assert placed_values(scatter(indices, count, tmp_path).result) is None
