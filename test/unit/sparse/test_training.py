"""Tests of training steps of pruned networks with encoded weights: values, gradients, and unconnected weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import ConvOp, MatmulOp, ScatterOp
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.sources import ConstantOp
from meshloom.dialects.dataflow.types import ui8
from meshloom.dialects.sparse import FillPanelsOp, PanelConvOp, PanelMatmulOp
from meshloom.formats.sparse.prune import magnitude_pruning
from meshloom.frontend.parameters import import_with_parameters
from meshloom.support.errors import MeshloomError
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from meshloom.transforms.sparse_encode_stored import encode_stored
from meshloom.transforms.sparse_store_parameters import Connections, store_parameters
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32

import meshloom

Arrays = dict[str, NDArray[Any]]
BATCH, INPUTS, HIDDEN, OUTPUTS = 16, 48, 96, 10
RATE = 0.125


def two_layers(inputs: int = INPUTS, hidden: int = HIDDEN) -> bytes:
    """The ONNX model relu(x first + bias) second; one of the weights is transposed."""
    shapes = {"first": (inputs, hidden), "bias": (hidden,), "second": (OUTPUTS, hidden)}
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 4, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "first", "bias"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "second"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, OUTPUTS])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def convolutions() -> bytes:
    """Two convolutions with stride and padding, a bias in between, and the mean."""
    random = np.random.default_rng(0)
    shapes = {"first": (16, 4, 3, 3), "bias": (16,), "second": (8, 16, 3, 3)}
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 4, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "first", "bias"], ["sum"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["sum"], ["hidden"]),
        helper.make_node("Conv", ["hidden", "second"], ["map"], strides=[2, 2], pads=[1, 1, 0, 0]),
        helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def pruned(model: bytes, density: float, chip: str = "tiny") -> tuple[ModuleOp, Arrays, dict[str, Connections]]:
    """The network whose parameters are the stored weights, its pruned weights, and their connections."""
    forward, weights = import_with_parameters(model, {})
    weights = {
        name: value * magnitude_pruning(value, density) if value.ndim > 1 else value for name, value in weights.items()
    }
    return forward, weights, store_parameters(forward, weights, load_chip(chip), 0.5 if density < 0.5 else 1.0)


def stored(weights: Arrays, connections: dict[str, Connections]) -> Arrays:
    return {name: connections[name].stored(value) if name in connections else value for name, value in weights.items()}


def differentiate(module: ModuleOp) -> None:
    DataflowDifferentiatePass(loss="mean-squared-error", rate=RATE).apply(Context(), module)


def reference_step(weights: Arrays, x: NDArray[Any], target: NDArray[Any]) -> Arrays:
    """The training step of `two_layers` in f64, as an oracle: only connected weights change."""
    first, bias, second = (weights[name].astype(np.float64) for name in ("first", "bias", "second"))
    total = x @ first + bias
    hidden = np.maximum(total, 0)
    wrong = hidden @ second.T - target
    of_result = 2 * wrong / wrong.size
    of_sum = (of_result @ second) * (total > 0)
    new = {
        "first": first - RATE * (x.T @ of_sum) * (first != 0),
        "bias": bias - RATE * of_sum.sum(axis=0),
        "second": second - RATE * (of_result.T @ hidden) * (second != 0),
    }
    return {"loss": np.asarray(np.mean(wrong**2)), **new}


def inputs_of(module: ModuleOp, shape: tuple[int, ...], outputs: int) -> Arrays:
    random = np.random.default_rng(1)
    return {
        "x": random.standard_normal(shape).astype(np.float32),
        "target": random.standard_normal((shape[0], outputs)).astype(np.float32),
    }


@pytest.mark.parametrize("chip", ["tiny", pytest.param("edge", marks=pytest.mark.slow)])
def test_a_step_changes_connected_weights_as_the_reference(chip: str) -> None:
    module, weights, connections = pruned(two_layers(), 0.1, chip)
    assert set(connections) == {"first", "second"}
    differentiate(module)
    assert encode_stored(module, load_chip(chip)) >= 1
    module.verify()
    values = inputs_of(module, (BATCH, INPUTS), OUTPUTS)
    expected = reference_step(weights, values["x"], values["target"])
    state = stored(weights, connections)
    on_chip = meshloom.compile(module.clone(), chip).run(values | state, check=True).outputs
    for results in (run_main(module, values | state), on_chip):
        np.testing.assert_allclose(results["loss"], expected["loss"], rtol=1e-5)
        for name in weights:
            new = results[f"new.{name}"]
            assert new.shape == state[name].shape
            whole = connections[name].dense(new) if name in connections else new
            np.testing.assert_allclose(whole, expected[name], rtol=1e-5, atol=1e-6)
            assert np.abs(new - state[name]).max() > 1e-4


def test_encoded_products_need_no_dense_weights() -> None:
    """
    Products with encoded weights fill panels from stored values, without dense weights.

    There are three: x first, hidden second, and the gradient of hidden with second transposed. x has no gradient.
    """
    module, _, _ = pruned(two_layers(256, 256), 0.1, "edge")
    differentiate(module)
    chip = load_chip("edge")
    count = encode_stored(module, chip)
    panels = [op for op in module.walk() if isinstance(op, PanelMatmulOp)]
    assert count == len(panels) >= 1
    assert all(isinstance(op.weights.owner, FillPanelsOp) for op in panels)
    assert not any(isinstance(op, ScatterOp) for op in module.walk())


@pytest.mark.slow
def test_convolutions_in_both_directions() -> None:
    module, weights, connections = pruned(convolutions(), 0.1)
    whole, _ = import_with_parameters(convolutions(), {})
    for one in (module, whole):
        differentiate(one)
    plain = module.clone()
    chip = load_chip("tiny")
    assert encode_stored(module, chip) >= 2
    assert any(isinstance(op, PanelConvOp) for op in module.walk())
    values, state = inputs_of(module, (4, 4, 8, 8), 8), stored(weights, connections)
    dense = run_main(whole, values | weights)
    compiled = meshloom.compile(module.clone(), chip).run(values | state, check=True).outputs
    for results in (run_main(plain, values | state), run_main(module, values | state), compiled):
        for name in weights:
            new = dense[f"new.{name}"]
            expected = connections[name].stored(new) if name in connections else new
            np.testing.assert_allclose(results[f"new.{name}"], expected, rtol=1e-4, atol=1e-6)


def test_weights_that_are_not_faster_encoded_are_computed_dense() -> None:
    """With density 0.95, all products are dense; their weights are scattered from the stored values."""
    module, weights, connections = pruned(two_layers(), 0.95)
    assert set(connections) == {"first", "second"}
    differentiate(module)
    assert encode_stored(module, load_chip("tiny")) == 0
    assert sum(isinstance(op, MatmulOp) for op in module.walk()) == 5
    values = inputs_of(module, (BATCH, INPUTS), OUTPUTS)
    expected = reference_step(weights, values["x"], values["target"])
    results = meshloom.compile(module, "tiny").run(values | stored(weights, connections), check=True).outputs
    for name, one in connections.items():
        np.testing.assert_allclose(one.dense(results[f"new.{name}"]), expected[name], rtol=1e-5, atol=1e-6)


def test_values_that_do_not_fit_a_core_are_ordered_from_dram() -> None:
    module, weights, connections = pruned(two_layers(256, 256), 0.1)
    differentiate(module)
    assert encode_stored(module, load_chip("tiny")) >= 1
    assert any(isinstance(op, FillPanelsOp) and op.order is None for op in module.walk())
    values = inputs_of(module, (BATCH, 256), OUTPUTS)
    expected = reference_step(weights, values["x"], values["target"])
    results = meshloom.compile(module, "tiny").run(values | stored(weights, connections), check=True).outputs
    for name, one in connections.items():
        np.testing.assert_allclose(one.dense(results[f"new.{name}"]), expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_encoded_steps_are_faster_than_dense_ones() -> None:
    module, _, _ = pruned(two_layers(128, 128), 0.1)
    whole, _ = import_with_parameters(two_layers(128, 128), {})
    differentiate(module)
    differentiate(whole)
    encode_stored(module, load_chip("tiny"))
    dense, sparse = (meshloom.compile(one, "tiny").timing for one in (whole, module))
    assert sparse.cycles < 0.9 * dense.cycles
    assert sparse.total_cycles < 0.6 * dense.total_cycles


def test_a_value_that_becomes_zero_stays_connected() -> None:
    module, weights, connections = pruned(two_layers(), 0.1)
    differentiate(module)
    encode_stored(module, load_chip("tiny"))
    values, state = inputs_of(module, (BATCH, INPUTS), OUTPUTS), stored(weights, connections)
    state["first"] = np.zeros_like(state["first"])
    results = meshloom.compile(module, "tiny").run(values | state).outputs
    zero = weights | {"first": np.zeros_like(weights["first"])}
    kept = reference_step(zero, values["x"], values["target"])
    np.testing.assert_allclose(results["loss"], kept["loss"], rtol=1e-5)
    # The expected gradients of the weights that are now zero.
    first, second = weights["first"], zero["second"].astype(np.float64)
    hidden = np.maximum(np.tile(zero["bias"].astype(np.float64), (BATCH, 1)), 0)
    of_sum = (2 * (hidden @ second.T - values["target"]) / values["target"].size) @ second * (hidden > 0)
    expected = connections["first"].stored(-RATE * (values["x"].T @ of_sum) * (first != 0))
    np.testing.assert_allclose(results["new.first"], expected, rtol=1e-5, atol=1e-7)


def test_connections_convert_in_both_directions() -> None:
    weights = np.array([[0, 1.5, 0], [-0.0, 0, -2]], np.float32)
    connections = Connections.of(weights)
    assert connections.stored(weights).tolist() == [1.5, -2]
    assert np.array_equal(connections.dense(np.array([3, 4], np.float32)), [[0, 3, 0], [0, 0, 4]])


def test_an_order_beyond_the_values_is_an_error() -> None:
    index, values = np.zeros((1, 1, 8), np.uint8), np.arange(3, dtype=np.float32)
    known = [
        ConstantOp.from_array(index, ui8),
        ConstantOp.from_array(values, f32),
        ConstantOp.from_array(np.zeros((1, 1, 2), np.int32), i32),
    ]
    op = FillPanelsOp(*known)
    filled = evaluate(op, [index, values, np.array([[[2, 1]]], np.int32)])
    assert filled.tobytes() == bytes(8) + np.array([2, 1], np.float32).tobytes()
    with pytest.raises(MeshloomError, match="order holds 0 to 3: there are 3 values"):
        evaluate(op, [index, values, np.array([[[0, 3]]], np.int32)])


def test_only_weights_with_few_connections_are_stored() -> None:
    forward, weights = import_with_parameters(convolutions(), {})
    assert store_parameters(forward, weights, load_chip("tiny")) == {}
    assert sum(isinstance(op, ConvOp) for op in forward.walk()) == 2
