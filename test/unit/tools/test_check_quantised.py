"""
Tests of `meshloom-run --check` on quantised networks: outputs may differ by one quantisation step if each operator,
with the run's own operands, is right within one step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.tools import compile as compile_tool
from meshloom.tools import run as run_tool
from meshloom.tools.first_difference import NetworkSearch, is_quantising, within_a_step
from meshloom.tools.oracle import Comparison, Oracle
from onnx import TensorProto, helper, numpy_helper

F32, U8, I32, I64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64
ROWS = 512


def half_way_network(scale: float = 1.0, bias: float = 0.0) -> onnx.ModelProto:
    """
    A network that quantises sums half-way between two steps, whose rounding depends on the order of addition.

    All columns of the weights are permutations of each other, so that the exact sums are all 20.5 steps.
    """
    random = np.random.default_rng(0)
    column = random.uniform(0.5, 1.5, ROWS).astype(np.float32)
    weights = np.stack([random.permutation(column) for _ in range(256)], 1)
    known: dict[str, Any] = {
        "w": weights,
        "step": np.float32(column.astype(np.float64).sum() / 20.5 * scale),
        "zero": np.uint8(0),
        "half": np.float32(0.5),
        "bias": np.float32(bias),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["sums"], "product"),
        helper.make_node("Add", ["sums", "bias"], ["moved"], "add"),
        helper.make_node("QuantizeLinear", ["moved", "step", "zero"], ["steps"], "quantise"),
        helper.make_node("DequantizeLinear", ["steps", "step", "zero"], ["real"], "dequantise"),
        helper.make_node("Mul", ["real", "half"], ["y"], "scale"),
    ]
    graph = helper.make_graph(
        nodes,
        "edge",
        [helper.make_tensor_value_info("x", F32, [1, ROWS])],
        [helper.make_tensor_value_info("steps", U8, [1, 256]), helper.make_tensor_value_info("y", F32, [1, 256])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in known.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((1, ROWS), np.float32))
    Path("net.onnx").write_bytes(half_way_network().SerializeToString())
    assert compile_tool.main(["net.onnx", "--chip", "tiny", "-o", "net.mlx", "-q"]) == 0
    return tmp_path


def check(model: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The status, output and errors of a check against a model."""
    capfd.readouterr()
    status = run_tool.main(["net.mlx", "--input", "x=x.npy", "--output", "values", "--check", model])
    printed = capfd.readouterr()
    return status, printed.out, printed.err


def test_a_difference_of_one_step_is_accepted(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = check("net.onnx", capfd)
    steps = np.load("values/steps.npy").astype(int)
    expected = Oracle(Path("net.onnx")).run({"x": np.load("x.npy")})["steps"].astype(int)
    # The test needs a network whose results differ by a step.
    assert np.abs(steps - expected).max() == 1
    assert (status, err) == (0, "")
    assert "steps  max difference 1, allowed 0: DIFFERENT" in out
    assert "OK: within one quantisation step of ONNX Runtime's: steps, y; all others are equal" in out


@pytest.mark.parametrize("change", [{"scale": 1.3}, {"bias": 60.0}])
def test_another_model_is_not_accepted(
    change: dict[str, float], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("other.onnx").write_bytes(half_way_network(**change).SerializeToString())
    status, _, err = check("other.onnx", capfd)
    assert status == 1
    assert err.startswith("error: outputs differ from ONNX Runtime's: steps, y; ")


def test_a_wrong_operator_is_reported(folder: Path) -> None:
    search = NetworkSearch(half_way_network(), {"x": np.load("x.npy")}, {})
    assert search.first_wrong_operator() is None
    search.expected["steps"] = search.expected["steps"] + np.uint8(1)
    search.expected["real"] = Oracle(_from_steps()).run({"steps": search.expected["steps"]})["real"]
    search.expected["y"] = search.expected["real"] * np.float32(0.5)
    assert search.first_wrong_operator() is None
    search.expected["steps"] = search.expected["steps"] + np.uint8(1)
    search.expected["real"] = Oracle(_from_steps()).run({"steps": search.expected["steps"]})["real"]
    search.expected["y"] = search.expected["real"] * np.float32(0.5)
    wrong = search.first_wrong_operator()
    assert wrong is not None
    assert (wrong[0].name, wrong[1], wrong[2]) == ("quantise", "steps", 2)


@pytest.mark.parametrize(("off", "wrong"), [(1, None), (2, "real"), (0.5, "y")])
def test_dequantised_values_may_be_one_step_off(off: float, wrong: str | None, folder: Path) -> None:
    """Dequantised values may be one step off if the run has no integers, and its outputs follow from these values."""
    search = NetworkSearch(half_way_network(), {"x": np.load("x.npy")}, {})
    step = numpy_helper.to_array(search.model.graph.initializer[1])
    real = search.interpreted()["real"] + np.float32(off) * step
    y = real * np.float32(0.5) + np.float32(wrong == "y")
    found = search.first_wrong_from_steps({**search.steps_of({"real": real, "moved": real, "y": y}), "y": y})
    assert (None if found is None else found[1]) == wrong


def _from_steps() -> bytes:
    """A model of the network's DequantizeLinear only."""
    model = half_way_network()
    nodes = [node for node in model.graph.node if node.name == "dequantise"]
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    model.graph.node.extend(nodes)
    model.graph.input.append(helper.make_tensor_value_info("steps", U8, [1, 256]))
    model.graph.output.append(helper.make_tensor_value_info("real", F32, [1, 256]))
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("op", "dtype", "difference", "right"),
    [
        ("QuantizeLinear", np.uint8, 1, True),
        ("QuantizeLinear", np.uint8, 2, False),
        ("QLinearConv", np.int8, 1, True),
        ("QLinearAdd", np.uint8, 1, True),
        ("QGemm", np.int8, 1, True),
        ("DynamicQuantizeMatMul", np.float32, 1, False),
        ("DynamicQuantizeLinear", np.uint8, 1, True),
        ("DynamicQuantizeLinear", np.float32, 1, False),
        ("MatMulInteger", np.int32, 1, False),
        ("ConvInteger", np.int32, 1, False),
        ("ArgMax", np.int64, 1, False),
        ("MaxPool", np.uint8, 1, False),
        ("MaxPool", np.uint8, 0, True),
    ],
)
def test_results_that_may_be_one_step_off(op: str, dtype: Any, difference: float, right: bool) -> None:
    node = helper.make_node(op, ["x"], ["y"])
    assert within_a_step(node, Comparison("y", difference, 0), np.zeros(1, dtype)) == right
    sums = ("MatMulInteger", "ConvInteger", "ArgMax", "MaxPool")
    assert is_quantising(node) == (op not in sums)


@pytest.mark.parametrize(("dtype", "right"), [(np.float16, True), (np.float32, False)])
def test_results_in_f16_may_differ_by_one_rounding(dtype: Any, right: bool) -> None:
    # The distance of adjacent f16 numbers from 2 to 4 is 2^-9.
    node, value = helper.make_node("MatMul", ["x", "w"], ["y"]), np.array([0.1, -3], dtype)
    assert within_a_step(node, Comparison("y", 2**-9, 1e-4), value) == right
    assert not within_a_step(node, Comparison("y", 2**-8, 1e-4), value)


@pytest.mark.parametrize(("difference", "right"), [(0.005, True), (0.01, False)])
def test_states_of_8_bits_may_be_one_step_off(difference: float, right: bool) -> None:
    # Values from -1 to 1 have steps of 2 / 255.
    found = Comparison("y", difference, 1e-4)
    assert (
        within_a_step(helper.make_node("DynamicQuantizeLSTM", ["x"], ["y"]), found, np.array([-1, 1], np.float32))
        == right
    )
