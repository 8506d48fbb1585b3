"""Test of windows that are entirely in the padding of computed values, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.tools.api import compile
from onnx import TensorProto, helper, numpy_helper
from random_onnx.model import run_reference

CHIPS = ("tiny", "edge")


@pytest.mark.parametrize("seed", range(24))
def test_window_in_the_padding(seed: int) -> None:
    """A convolution whose padding may be wider than its window, between two operations, equals ONNX Runtime's."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    channels, batch = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    spatial = [int(rng.integers(1, 7)) for _ in range(rank)]
    kernel = [int(rng.integers(1, 3)) for _ in range(rank)]
    attributes: dict[str, Any] = {
        "strides": [int(rng.integers(1, 4)) for _ in range(rank)],
        "pads": [int(rng.integers(0, 5)) for _ in range(2 * rank)],
        "dilations": [int(rng.integers(1, 3)) for _ in range(rank)],
    }
    x = rng.standard_normal((batch, channels, *spatial)).astype(np.float32)
    group = channels if seed % 3 == 0 else 1
    w = rng.standard_normal((2 * group, channels // group, *kernel)).astype(np.float32)
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["b"], group=group, **attributes),
        helper.make_node("Tanh", ["b"], ["y"]),
    ]
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    graph = helper.make_graph(
        nodes, "g", [info], [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(w, "w")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    try:
        expected = run_reference(model, {"x": x})["y"]
    except Exception:
        pytest.skip("the window does not fit once")
    got = compile(model, CHIPS[seed % 2]).run({"x": x}, check=True).outputs["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
