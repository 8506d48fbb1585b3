"""Whole training steps: comparison with the gradients of another framework, and a decreasing loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.dialects.dataflow import LoopOp
from meshloom.dialects.dataflow.entry_function import argument_names, find_main
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.frontend.parameters import PARAMETER, import_with_parameters
from meshloom.tools.api import compile
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from xdsl.context import Context

STEPS = Path(__file__).parents[2] / "data" / "training_steps"


def tensors(folder: Path, kind: str, names: list[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a test data set by name."""
    files = (folder / f"{kind}_{number}.pb" for number in range(len(names)))
    protos = (onnx.TensorProto.FromString(file.read_bytes()) for file in files)
    return {name: numpy_helper.to_array(proto) for name, proto in zip(names, protos, strict=True)}


@pytest.mark.parametrize("name", ["bert_sgd", "vit_sgd"])
def test_gradients_equal_another_frameworks(name: str) -> None:
    """
    The gradients equal those of a training step that another framework exported.

    That step starts with momentum 0, so its new momentum is its gradient; only its forward part is differentiated.
    """
    folder = STEPS / name
    model = onnx.ModelProto.FromString((folder / "model.onnx").read_bytes())
    inputs = tensors(folder / "test_data_set_0", "input", [info.name for info in model.graph.input])
    expected = tensors(folder / "test_data_set_0", "output", [info.name for info in model.graph.output])
    parameters = [key for key in inputs if f"in.state0.{key.removeprefix('in.')}" in inputs]
    assert len(parameters) >= 40
    del model.graph.output[1:]
    module = import_onnx(model)
    used = argument_names(find_main(module))
    DataflowDifferentiatePass(loss="result", optimizer="none", parameters=tuple(parameters)).apply(Context(), module)
    module.verify()
    found = interpret_function(module, {key: inputs[key] for key in used})
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)
    for key in parameters:
        gradient = expected[f"new.state0.{key.removeprefix('in.')}"]
        np.testing.assert_allclose(found[f"grad.{key}"], gradient, rtol=1e-3, atol=1e-6, err_msg=key)


def two_layers() -> onnx.ModelProto:
    """x [8, 5] -> relu(x a + b) c, where a and b are initialisers and c is a Constant node."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 16)).astype(np.float32), np.zeros(16, np.float32)
    c = numpy_helper.from_array(rng.standard_normal((16, 3)).astype(np.float32))
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], value=c),
            helper.make_node("Gemm", ["x", "a", "b"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "c"], ["z"]),
        ],
        "two_layers",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [8, 5])],
        [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [8, 3])],
        [numpy_helper.from_array(a, "a"), numpy_helper.from_array(b, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_weights_become_parameters() -> None:
    module, values = import_with_parameters(two_layers())
    main = find_main(module)
    assert argument_names(main) == ["x", "a", "b", "c"]
    assert main.arg_attrs is not None
    assert [PARAMETER in entry.data for entry in main.arg_attrs] == [False, True, True, True]
    x = np.ones((8, 5), np.float32)
    expected = np.maximum(x @ values["a"] + values["b"], 0) @ values["c"]
    np.testing.assert_allclose(interpret_function(module, {"x": x} | values)["z"], expected, rtol=1e-5)


def test_values_that_import_needs_stay_constants() -> None:
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest")],
        "resize",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 2, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 1, 4, 4])],
        [scales],
    )
    module, values = import_with_parameters(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert argument_names(find_main(module)) == ["x"]
    assert values == {}


@pytest.mark.parametrize(
    "options", [{"optimizer": "sgd", "rate": 0.05, "momentum": 0.9}, {"optimizer": "adam", "rate": 0.02}]
)
def test_training_on_the_chip_lowers_the_loss(options: dict[str, Any]) -> None:
    """Twenty steps on eight points in three classes; the chip computes each step, the host keeps the state."""
    module, state = import_with_parameters(two_layers())
    DataflowDifferentiatePass(**options).apply(Context(), module)
    network = compile(module, "tiny")
    shapes = {info.name: info.shape for info in network.executable.inputs}
    rng = np.random.default_rng(1)
    batch = {"x": rng.standard_normal((8, 5)).astype(np.float32), "target": rng.integers(0, 3, 8)}
    for name in shapes.keys() - state.keys() - batch.keys():
        state[name] = np.zeros(shapes[name], np.float32)
    losses: list[float] = []
    for _ in range(20):
        outputs = network.run(batch | state).outputs
        losses.append(float(outputs["loss"]))
        state = {name: outputs[f"new.{name}"] for name in state}
    assert losses[-1] < 0.1 * losses[0]


def _recurrent(kind: str) -> onnx.ModelProto:
    """x [3, 8, 2] -> a layer of 4 units -> the mean of the units' last states for each of 8 sequences [1, 8]."""
    rng = np.random.default_rng(1)
    gates = {"LSTM": 4, "GRU": 3}[kind] * 4
    shapes = {"w": (1, gates, 2), "r": (1, gates, 4), "b": (1, 2 * gates)}
    weights = {name: (rng.standard_normal(shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        helper.make_node(kind, ["x", "w", "r", "b"], ["", "h"], hidden_size=4),
        helper.make_node("ReduceMean", ["h"], ["y"], axes=[2], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        kind,
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 8, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("kind", "loops"), [pytest.param(*one, marks=pytest.mark.slow) for one in (("LSTM", "save"), ("GRU", "recompute"))]
)
def test_training_through_time_learns_and_equals_the_unrolled_step(kind: str, loops: Any) -> None:
    """The first two steps equal the interpreted unrolled step; after 12 steps the loss is less than half."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 8, 2)).astype(np.float32)
    batch = {"x": x, "target": np.tanh(x[..., 0].mean(0, keepdims=True))}
    module, state = import_with_parameters(_recurrent(kind))
    unrolled = module.clone()
    options: dict[str, Any] = {"loss": "mean-squared-error", "optimizer": "sgd", "rate": 3.0}
    DataflowDifferentiatePass(**options, loops="unroll").apply(Context(), unrolled)
    DataflowDifferentiatePass(**options, loops=loops).apply(Context(), module)
    assert sum(isinstance(op, LoopOp) for op in module.walk()) == 2
    step = compile(module, chip="tiny")
    losses: list[float] = []
    for number in range(12):
        outputs = step.run(batch | state).outputs
        losses.append(float(outputs["loss"]))
        if number < 2:
            expected = interpret_function(unrolled, batch | state)
            for name, value in expected.items():
                np.testing.assert_allclose(outputs[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
        state = {name: outputs[f"new.{name}"] for name in state}
    assert losses[-1] < losses[0] / 2
