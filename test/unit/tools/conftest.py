"""Fixtures: a small model, and calls of the tools as by users."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """
    Run a tool in an empty folder: `run("meshloom-run", "net.mlx", ...)`.

    The tool runs in this process, because starting a process takes longer than most tests.
    """
    commands = {one.name: one.attr for one in entry_points(group="console_scripts", module="meshloom.tools.entry")}

    def call(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        given = [*map(str, arguments)]
        capfd.readouterr()
        with monkeypatch.context() as patch, warnings.catch_warnings():
            patch.chdir(tmp_path)
            warnings.resetwarnings()
            try:
                status = import_module(f"meshloom.tools.{commands[tool]}").main(given)
            except SystemExit as leaving:
                status = leaving.code
        assert isinstance(status, int)
        output, errors = capfd.readouterr()
        return subprocess.CompletedProcess([tool, *given], status, output, errors)

    return call


@pytest.fixture
def start(tmp_path: Path) -> Run:
    """As `run`, but in a separate process."""

    def start(tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name(tool)), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    return start


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(x w), and the index of the maximum of each row: an integer output whose name is invalid for a file."""
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
