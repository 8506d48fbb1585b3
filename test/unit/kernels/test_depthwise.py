"""Depthwise convolutions whose channels both units share: against all splits, and against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.chips.cycles import matmul_cycles, shared_batch, vector_cycles
from meshloom.tools.oracle import Oracle
from onnx import ModelProto, TensorProto, helper, numpy_helper

import meshloom

CHIPS = ("tiny", "edge", "grid", "cloud")


@settings(deadline=None)
@given(
    st.sampled_from(CHIPS), st.integers(1, 40), st.integers(1, 900), st.integers(1, 49), st.integers(1, 3),
    st.sampled_from((1, 4)),
)  # fmt: skip
def test_the_split_takes_the_fewest_cycles_of_all_splits(
    name: str, batch: int, m: int, k: int, n: int, item_bytes: int
) -> None:
    chip, rate = load_chip(name), 4 if item_bytes == 1 else 1

    def cycles(on_matrix: int) -> int:
        points = (batch - on_matrix) * m * k * n
        vector = vector_cycles(chip, rate, points, 1, points * item_bytes) if points else 0
        straight, swapped = (matmul_cycles(chip, rate, on_matrix, *one) for one in ((m, k, n), (n, k, m)))
        return max(vector, min(straight, swapped) if on_matrix else 0)

    on_matrix, taken = shared_batch(chip, rate, (batch, m, k, n), item_bytes)
    assert taken == cycles(on_matrix) == min(map(cycles, range(batch + 1)))


def depthwise_model(channels: int, multiplier: int, size: int, kernel: int, stride: int) -> ModelProto:
    """A depthwise convolution with weights of small whole numbers, whose sums are exact in any order."""
    weights = np.random.default_rng(channels).integers(-3, 4, (channels * multiplier, 1, kernel, kernel))
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], group=channels, strides=[stride] * 2, pads=[kernel // 2] * 4
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "depthwise",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("channels", "multiplier", "size", "kernel", "stride"),
    [(64, 1, 20, 5, 1), (37, 1, 15, 3, 1), (24, 2, 16, 3, 2), (3, 1, 40, 7, 1)],
)
def test_results_equal_onnx_runtime(channels: int, multiplier: int, size: int, kernel: int, stride: int) -> None:
    model = depthwise_model(channels, multiplier, size, kernel, stride)
    x = np.random.default_rng(1).integers(-4, 5, (1, channels, size, size)).astype(np.float32)
    (expected,) = Oracle(model.SerializeToString()).run({"x": x}).values()
    result = meshloom.compile(model, chip="tiny").run({"x": x}, check=True)
    np.testing.assert_array_equal(result.outputs["y"], expected)


def test_sums_of_bytes_equal_onnx_runtime() -> None:
    rng = np.random.default_rng(2)
    weights = rng.integers(-128, 128, (40, 1, 5, 5)).astype(np.int8)
    graph = helper.make_graph(
        [helper.make_node("ConvInteger", ["x", "w"], ["y"], group=40, pads=[2] * 4)],
        "depthwise",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 40, 18, 18])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.integers(0, 256, (1, 40, 18, 18)).astype(np.uint8)
    (expected,) = Oracle(model.SerializeToString()).run({"x": x}).values()
    result = meshloom.compile(model, chip="tiny").run({"x": x}, check=True)
    np.testing.assert_array_equal(result.outputs["y"], expected)
