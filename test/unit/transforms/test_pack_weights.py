"""Tests of 4-bit weights: which are stored two per byte, and results of networks with them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle
from meshloom.transforms.dataflow_pack_weights import DataflowPackWeightsPass
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from xdsl.context import Context

DEPTH, OUTPUTS = 100, 96
RNG = np.random.default_rng(3)


def network(nodes: list[NodeProto], known: dict[str, np.ndarray], shape: tuple[int, ...]) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in known.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def of_blocks(zero_points: bool, bits: int = 4) -> ModelProto:
    blocks = -(-DEPTH // 32)
    known = {
        "w": RNG.integers(0, 256, (OUTPUTS, blocks, 32 * bits // 8), np.uint8),
        "s": RNG.uniform(0.01, 0.02, OUTPUTS * blocks).astype(np.float32),
    }
    if zero_points:
        known["z"] = RNG.integers(0, 256, OUTPUTS * -(-blocks * bits // 8), np.uint8)
    node = helper.make_node(
        "MatMulNBits", ["x", *known], ["y"], domain="com.microsoft", K=DEPTH, N=OUTPUTS, bits=bits, block_size=32
    )
    return network([node], known, (3, DEPTH))


def of_channels(element: type, zero: int | None, block: int = 0) -> ModelProto:
    """A product with a DequantizeLinear of its weights, with a scale for each output, or for each block of inputs."""
    kind = np.dtype(element)
    low = 0 if kind == np.dtype(ml_dtypes.uint4) else -8
    shape = (DEPTH // block, OUTPUTS) if block else (OUTPUTS,)
    known = {
        "w": RNG.integers(low, low + 16, (DEPTH, OUTPUTS)).astype(kind),
        "s": RNG.uniform(0.01, 0.02, shape).astype(np.float32),
    }
    if zero is not None:
        known["z"] = (RNG.integers(low, low + 16, shape) if zero < 0 else np.full(shape, zero)).astype(kind)
    attributes: dict[str, Any] = {"axis": 0, "block_size": block} if block else {"axis": 1}
    nodes = [
        helper.make_node("DequantizeLinear", [*known], ["f"], **attributes),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    return network(nodes, known, (3, DEPTH))


def of_convolution() -> ModelProto:
    known = {
        "w": RNG.integers(-8, 8, (32, 33, 3, 3)).astype(ml_dtypes.int4),
        "s": RNG.uniform(0.01, 0.02, 32).astype(np.float32),
    }
    nodes = [
        helper.make_node("DequantizeLinear", [*known], ["f"], axis=0),
        helper.make_node("Conv", ["x", "f"], ["y"], pads=[1, 1, 1, 1]),
    ]
    return network(nodes, known, (1, 33, 6, 6))


CASES = {
    "blocks": lambda: of_blocks(False),
    "blocks with zero points": lambda: of_blocks(True),
    "2 bits": lambda: of_blocks(False, 2),
    "int4": lambda: of_channels(ml_dtypes.int4, None),
    "uint4 around the middle": lambda: of_channels(ml_dtypes.uint4, 8),
    "uint4 with zero points": lambda: of_channels(ml_dtypes.uint4, -1),
    "int4 in blocks": lambda: of_channels(ml_dtypes.int4, -1, 25),
    "convolution": of_convolution,
}


@pytest.mark.parametrize("name", CASES)
def test_weights_are_stored_two_per_byte(name: str) -> None:
    model = CASES[name]()
    module = import_onnx(model)
    DataflowPackWeightsPass().apply(Context(), module)
    assert str(module).count("4>>") >= 1
    network = compile(model, "tiny")
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    got, expected = network.run({"x": x}).outputs["y"], Oracle(model.SerializeToString()).run({"x": x})["y"]
    assert np.abs(got - expected).max() <= 1e-4 * np.abs(expected).max()


def test_wider_weights_are_kept() -> None:
    known = {"w": RNG.integers(-9, 8, (DEPTH, OUTPUTS)).astype(np.int8), "s": np.float32(0.1)}
    nodes = [
        helper.make_node("DequantizeLinear", [*known], ["f"]),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    module = import_onnx(network(nodes, {name: np.asarray(one) for name, one in known.items()}, (3, DEPTH)))
    DataflowPackWeightsPass().apply(Context(), module)
    assert "xi8>" in str(module)
    assert "vector" not in str(module)
