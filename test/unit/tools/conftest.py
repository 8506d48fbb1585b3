"""A small model, and tools as processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a tool in an empty folder: `run("meshloom-run", "net.mlx", ...)`."""

    def start(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name(tool)), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    return start


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x w), and where each row of y is largest: an integer output whose name is unfit for a file."""
    weights = np.random.default_rng(0).standard_normal((6, 10)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Relu", ["p"], ["y"], name="act"),
        helper.make_node("ArgMax", ["y"], ["out/best:0"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10]),
            helper.make_tensor_value_info("out/best:0", TensorProto.INT64, ["batch"]),
        ],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "small.onnx"
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(whole.SerializeToString())
    return path
