"""Tests of the messages of `meshloom-compile --sparse` about weights that stay dense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.lowering.driver.compile_sparse import SparseNetwork, compile_encoded
from meshloom.tools.compile import main
from meshloom.tools.dense_weights import dense_weights_text
from meshloom.tools.read_module import read_module
from onnx import TensorProto, helper, numpy_helper


def test_the_reason_is_stated_for_each_dense_tensor(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--chip", "edge", "--sparse", "-o", str(model.with_suffix(".mlx"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    printed = lines[lines.index("weights that stay dense:") + 1 :]
    assert "  none of them is zero: w (16x8x3x3)" in printed
    assert "  depthwise convolutions run on vector units, which skip no zeros: constant of b (16x1x3x3)" in printed
    assert any(
        line.startswith("  the best encoding (direct) takes ") and line.endswith(": v (16x512)") for line in printed
    )
    assert not any("s (512x96)" in line for line in printed)
    assert not any("network faster" in line for line in lines)


def test_a_network_measured_as_not_faster_is_reported(model: Path) -> None:
    module = read_module(model, {})
    chip = load_chip("edge")
    cycles = iter([1000, 999, 998])
    timed: SparseNetwork[object] = compile_encoded(module.clone(), chip, lambda one: one, lambda one: next(cycles))
    assert not timed.taken
    assert "do not make the network faster (1,000 cycles, dense 998)" in dense_weights_text(timed)


@pytest.fixture
def ones(tmp_path: Path) -> Path:
    """A product whose weights are all 1."""
    weights = np.ones((64, 64), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "ones.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_nothing_is_timed_if_no_weight_is_zero(ones: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def never(one: object) -> int:
        raise AssertionError("timed")

    network = compile_encoded(read_module(ones, {}), load_chip("edge"), lambda one: one, never)
    assert dense_weights_text(network) == "all weights stay dense:\n  none of them is zero: constant of y (64x64)"
    assert main([str(ones), "--chip", "edge", "--sparse", "-o", str(ones.with_suffix(".mlx"))]) == 0
    out = capsys.readouterr().out
    assert "all weights stay dense:" in out
    assert "faster" not in out


def test_quiet_prints_nothing(ones: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `-q`, weights that stay dense are not printed either."""
    assert main([str(ones), "--chip", "edge", "--sparse", "-q", "-o", str(ones.with_suffix(".mlx"))]) == 0
    assert capsys.readouterr().out == ""
