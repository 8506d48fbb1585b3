"""Tests of passes on modules in subgraphs: each works inside them, or is an error; none silently does nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import make_inputs, run_main
from meshloom.dialects.dataflow import AddOp, MulOp
from meshloom.support.errors import InputError
from meshloom.tools.opt import main as opt_main
from meshloom.tools.read_module import read_module
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.dataflow_split_batch import DataflowSplitBatchPass
from meshloom.transforms.manycore_outline_subgraphs import ManycoreOutlineSubgraphsPass
from xdsl.context import Context

OUTLINE = "manycore-outline-subgraphs{rule=fewest-bytes parts=2}"
ORDER = """
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = dataflow.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c2 = dataflow.matmul %r, %w transpose_b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v1 = dataflow.transpose %c2 [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %v2 = dataflow.reduce max %v1 axes [0] : (tensor<64x64xf32>) -> tensor<1x64xf32>
  %c1 = dataflow.matmul %r, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %mm = dataflow.matmul %c1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %me = dataflow.reduce sum %mm axes [1] : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %s = dataflow.add %v2, %me : (tensor<1x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  func.return %s : tensor<64x64xf32>
}
"""
AFFINE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = dataflow.constant dense<2.0> : tensor<f32>
  %three = dataflow.constant dense<3.0> : tensor<f32>
  %a = dataflow.mul %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = dataflow.add %a, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = dataflow.mul %b, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = dataflow.add %c, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = dataflow.relu %d : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
"""


@pytest.fixture
def order(tmp_path: Path) -> Path:
    path = tmp_path / "order.mlir"
    path.write_text(ORDER)
    return path


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("dataflow-to-manycore,", "manycore-schedule{chip=tiny model=stream}"),
        ("dataflow-to-manycore,", "manycore-tile{chip=tiny}"),
        ("dataflow-to-manycore,manycore-tile{chip=tiny},", "manycore-place{chip=tiny}"),
        ("dataflow-to-manycore,", "manycore-split-reductions{chip=tiny}"),
        ("", "dataflow-split-batch{parts=2}"),
    ],
)
def test_passes_that_do_not_work_inside_subgraphs_are_errors(
    order: Path, before: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt_main([str(order), "-p", f"{before}{OUTLINE},{name}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    plain = name.partition("{")[0]
    assert f"pass '{plain}': {plain}" in line
    assert "does not work inside subgraphs such as @0" in line
    assert "manycore-inline-subgraphs before it" in line
    # The remedy in the message works.
    inline = "manycore-inline-subgraphs"
    assert opt_main([str(order), "-p", f"{before}{OUTLINE},{inline},{name}", "-o", str(order.with_suffix(".out"))]) == 0


def test_passes_refuse_subgraphs_in_python_too(order: Path) -> None:
    module = read_module(order, {})
    ManycoreOutlineSubgraphsPass(rule=("fewest-bytes",), parts=2).apply(Context(), module)
    with pytest.raises(InputError, match="dataflow-split-batch does not work inside subgraphs"):
        DataflowSplitBatchPass(parts=2).apply(Context(), module)


def test_affine_chains_are_folded_inside_subgraphs(tmp_path: Path) -> None:
    path = tmp_path / "affine.mlir"
    path.write_text(AFFINE)
    module = read_module(path, {})
    inputs = make_inputs(module, 0)
    (x,) = inputs.values()
    ManycoreOutlineSubgraphsPass(rule=("fewest-bytes",), parts=1).apply(Context(), module)
    DataflowFoldAffinePass().apply(Context(), module)
    module.verify()
    kinds = [type(op) for op in module.walk()]
    assert (kinds.count(MulOp), kinds.count(AddOp)) == (1, 1)
    (found,) = run_main(module, inputs).values()
    np.testing.assert_allclose(found, np.maximum((x.astype(np.float64) * 2 + 3) * 2 + 3, 0), rtol=1e-6)
