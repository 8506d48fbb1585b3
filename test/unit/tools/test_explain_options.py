"""Tests of `meshloom-run --explain --what-if` and of the same from Python, on a small network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from meshloom.support.errors import InputError
from meshloom.tools import run
from meshloom.tools.api import RunResult
from onnx import TensorProto, helper, numpy_helper

import meshloom


def network() -> bytes:
    """y = relu(x w), with x 16 x 64 and w 64 x 64."""
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "layer", ends[:1], ends[1:], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def test_the_options_print_and_write_the_same_sums(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, stats, page = tmp_path / "net.mlx", tmp_path / "stats.json", tmp_path / "page.html"
    compiled = meshloom.compile(network(), chip="tiny")
    compiled.save(path)
    arguments = [str(path), "--random", "0", "--explain", "--what-if", "--stats", str(stats), "--report", str(page)]
    assert run.main(arguments) == 0
    printed = capsys.readouterr().out
    figures = json.loads(stats.read_text())
    cycles = figures["cycles"]
    assert sum(share["cycles"] for share in figures["explanation"]["critical_path"]) == cycles
    assert f"composition of the {cycles:,} cycles" in printed
    assert f"the same program with one chip parameter changed ({cycles:,} cycles unchanged)" in printed
    assert len(figures["what_if"]) == 9
    achievable = figures["achievable"]
    assert f"layers with the most of the {achievable['cycles']:,.0f} achievable cycles" in printed
    of_layers = [layer["peak"] + layer["filling"] + layer["loads"] for layer in achievable["layers"]]
    assert sum(of_layers) + achievable["by_part"]["results"] == pytest.approx(achievable["cycles"])
    # It is the first section of the page.
    assert page.read_text().index("What limits it") < page.read_text().index("Distance to the roofline")
    result = compiled.run({"x": np.ones((16, 64), np.float32)})
    explanation = result.explain()
    assert explanation.figures() == figures["explanation"]
    assert str(explanation) in printed
    assert [one.doubled for one in result.what_if()] == [one["doubled"] for one in figures["what_if"]]


def test_a_result_without_an_executable_cannot_be_explained() -> None:
    compiled = meshloom.compile(network(), chip="tiny")
    with pytest.raises(InputError, match="this result has no executable"):
        RunResult({}, compiled.timing, {}).explain()
