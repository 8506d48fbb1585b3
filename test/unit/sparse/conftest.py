"""A fixture: a network with weights that are encoded and weights that stay dense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

SHAPES = {"w": (16, 8, 3, 3), "d": (16, 1, 3, 3), "v": (16, 512), "s": (512, 96)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution, a depthwise one and two matrix products; weights of the last product have the density 0.1."""
    generator = np.random.default_rng(0)
    values = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    values["s"] *= generator.random(SHAPES["s"]) < 0.1
    values["v"][0, 0] = 0
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("Conv", ["a", "d"], ["b"], group=16),
        helper.make_node("ReduceMean", ["b"], ["c"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["c", "v"], ["e"]),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("MatMul", ["f", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 96])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path
