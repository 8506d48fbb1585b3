"""Four small networks that are compiled with several options together, and their expected results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.tools import opt
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Arrays = dict[str, NDArray[Any]]
RATE = 0.1
"""Learning rate of the training step."""


@dataclass(frozen=True)
class Network:
    """A network: its file, inputs, and the results expected for them."""

    file: str
    write: Callable[[Path], None]
    inputs: Arrays
    expected: Arrays


def pruned(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    """Random weights of density 1/8."""
    weights = generator.standard_normal(shape) * np.sqrt(8 / np.prod(shape[:-1]))
    return (weights * (generator.random(shape) < 1 / 8)).astype(np.float32)


def perceptron() -> Network:
    """Three layers with pruned weights."""
    generator = np.random.default_rng(1)
    widths = (160, 128, 96, 32)
    nodes: list[NodeProto] = []
    weights: Arrays = {}
    for number, width in enumerate(widths[1:]):
        weights[f"w{number}"] = pruned(generator, widths[number], width)
        weights[f"b{number}"] = generator.standard_normal(width).astype(np.float32)
        nodes.append(helper.make_node("Gemm", [f"h{number}", f"w{number}", f"b{number}"], [f"g{number}"]))
        nodes.append(helper.make_node("Relu", [f"g{number}"], [f"h{number + 1}"]))
    model = _model(nodes, weights, ("h0", [4, widths[0]]), ("h3", [4, widths[-1]]))
    return _inference("perceptron.onnx", model, {"h0": _normal(generator, 4, widths[0])})


def convolutions() -> Network:
    """Two convolutions, a skip connection over the second, pooling, and a product; all but the first are pruned."""
    generator = np.random.default_rng(2)
    weights: Arrays = {
        "k0": _normal(generator, 16, 4, 3, 3) / 6,
        "k1": np.moveaxis(pruned(generator, 3, 3, 16, 16), (2, 3), (1, 0)).copy(),
        "w": pruned(generator, 16 * 4 * 4, 40),
    }
    nodes = [
        helper.make_node("Conv", ["x", "k0"], ["c0"], pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "k1"], ["c1"], pads=[1] * 4),
        helper.make_node("Add", ["c1", "r0"], ["s"]),
        helper.make_node("Relu", ["s"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    model = _model(nodes, weights, ("x", [2, 4, 8, 8]), ("y", [2, 40]))
    return _inference("convolutions.onnx", model, {"x": _normal(generator, 2, 4, 8, 8)})


def recurrent() -> Network:
    """Two LSTM layers of 12 steps with pruned recurrent weights, and a pruned product."""
    generator = np.random.default_rng(4)
    steps, size = 12, 24
    weights: Arrays = {"w": pruned(generator, size, 16)}
    nodes: list[NodeProto] = []
    for layer in range(2):
        weights[f"w{layer}"] = _normal(generator, 1, 4 * size, size) / 5
        weights[f"r{layer}"] = pruned(generator, 1, size, 4 * size).transpose(0, 2, 1).copy()
        read = [f"x{layer}", f"w{layer}", f"r{layer}"]
        nodes.append(helper.make_node("LSTM", read, [f"y{layer}"], hidden_size=size))
        nodes.append(helper.make_node("Squeeze", [f"y{layer}", "axes"], [f"x{layer + 1}"]))
    nodes.append(helper.make_node("MatMul", ["x2", "w"], ["out"]))
    weights["axes"] = np.array([1], np.int64)
    model = _model(nodes, weights, ("x0", [steps, 1, size]), ("out", [steps, 1, 16]))
    return _inference("recurrent.onnx", model, {"x0": _normal(generator, steps, 1, size)})


def training_step() -> Network:
    """A training step of three layers after a pruned one that is not trained; NumPy computes the results in float64."""
    generator = np.random.default_rng(3)
    frozen, batch = pruned(generator, 96, 32), 64
    trained: Arrays = {f"w{number}": _normal(generator, 32, 32) / 6 for number in (1, 2, 3)}
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["m0"]), helper.make_node("Relu", ["m0"], ["h0"])]
    for number, name in enumerate(trained, 1):
        nodes.append(helper.make_node("MatMul", [f"h{number - 1}", name], [f"m{number}"]))
        nodes.append(helper.make_node("Tanh", [f"m{number}"], [f"h{number}"]))
    model = _model(nodes, {"w0": frozen}, ("x", [batch, 96]), ("h3", [batch, 32]))
    for name, value in trained.items():
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))
    inputs: Arrays = {"x": _normal(generator, batch, 96), "target": _normal(generator, batch, 32), **trained}

    def write(path: Path) -> None:
        source = path.with_suffix(".onnx")
        source.write_bytes(model.SerializeToString())
        passes = f'dataflow-differentiate{{loss="mean-squared-error" rate={RATE} parameters="w1","w2","w3"}}'
        assert opt.main([str(source), "-p", passes, "-o", str(path)]) == 0

    values = {name: value.astype(np.float64) for name, value in inputs.items()}
    layers = [np.maximum(values["x"] @ frozen.astype(np.float64), 0)]
    for name in trained:
        layers.append(np.tanh(layers[-1] @ values[name]))
    error = layers[-1] - values["target"]
    expected = {"loss": np.asarray(np.mean(error**2))}
    slope = 2 * error / error.size
    for name, before, after in reversed(list(zip(trained, layers, layers[1:], strict=False))):
        slope = slope * (1 - after**2)
        expected[f"new.{name}"] = values[name] - RATE * before.T @ slope
        slope = slope @ values[name].T
    return Network("step.mlir", write, inputs, {name: value.astype(np.float32) for name, value in expected.items()})


def _inference(file: str, model: ModelProto, inputs: Arrays) -> Network:
    data = model.SerializeToString()

    def write(path: Path) -> None:
        path.write_bytes(data)

    return Network(file, write, inputs, Oracle(data).run(inputs))


def _model(
    nodes: list[NodeProto], weights: Arrays, source: tuple[str, list[int]], result: tuple[str, list[int]]
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(source[0], TensorProto.FLOAT, source[1])],
        [helper.make_tensor_value_info(result[0], TensorProto.FLOAT, result[1])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _normal(generator: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return generator.standard_normal(shape).astype(np.float32)
