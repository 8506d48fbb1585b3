"""Quantised networks multiply integers on the chip: patterns of quantised operators against ONNX Runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.tools.api import compile
from onnx import TensorProto, helper, numpy_helper
from reference import Array, random, run_reference

BYTES = (np.int8, np.uint8)


def codes(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Quantised values from the whole range of a type."""
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


@dataclass
class Graph:
    """A network that is built node by node."""

    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def through_bytes(self, x: str, scale: float, zero: int, dtype: Any) -> str:
        """Quantise x, and dequantise it again."""
        given = self.constant(scale), self.constant(zero, dtype)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *given), *given)

    def weights(self, values: Array, scale: Array, zero: Array | None = None, axis: int = 0) -> str:
        parameters = [self.constant(scale), *([] if zero is None else [self.constant(zero, values.dtype)])]
        return self.node("DequantizeLinear", self.constant(values, values.dtype), *parameters, axis=axis)

    def model(self, x: Array, result: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
            [helper.make_empty_tensor_value_info(result)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check_steps(graph: Graph, x: Array, result: str, chip: str, steps: int) -> str:
    """Check that the chip's result is within `steps` of ONNX Runtime's; return the text of the imported module."""
    model = graph.model(x, result)
    (expected,) = run_reference(model, {"x": x}).values()
    got = compile(model, chip).run({"x": x}, check=True).outputs[result]
    assert got.dtype == expected.dtype
    assert np.abs(got.astype(np.float64) - expected.astype(np.float64)).max() <= steps
    return str(import_onnx(model))


@pytest.mark.parametrize("chip", ["tiny", pytest.param("edge", marks=pytest.mark.slow)])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("x_type", BYTES)
@pytest.mark.parametrize(("w_type", "w_zero"), [(np.int8, 0), (np.int8, 5), (np.uint8, 128), (np.uint8, 30)])
def test_convolution_between_quantised_values(chip: str, relu: bool, x_type: Any, w_type: Any, w_zero: int) -> None:
    graph, x = Graph(), random(2, 6, 9, 7)
    image = graph.through_bytes("x", 0.02, 3 if x_type is np.int8 else 131, x_type)
    scale = np.linspace(0.001, 0.004, 10).astype(np.float32)
    w = graph.weights(codes((10, 3, 3, 2), w_type), scale, np.full(10, w_zero))
    bias = graph.node(
        "DequantizeLinear", graph.constant(np.arange(-500, 500, 100), np.int32), graph.constant(scale * 0.02), axis=0
    )
    y = graph.node("Conv", image, w, bias, group=2, pads=[1, 0, 1, 2], strides=[2, 1])
    y = graph.node("Relu", y) if relu else y
    y = graph.node("QuantizeLinear", y, graph.constant(0.03), graph.constant(100, np.uint8))
    text = check_steps(graph, x, y, chip, 1)
    assert "tensor<2x6x9x7xi8>, tensor<10x3x3x2xi8>" in text
    assert "dataflow.quantize" in text


@pytest.mark.parametrize("chip", ["tiny", "edge"])
@pytest.mark.parametrize("x_type", BYTES)
@pytest.mark.parametrize(("axis", "op"), [(1, "MatMul"), (0, "Gemm")])
def test_product_whose_depth_is_no_multiple_of_the_array(chip: str, x_type: Any, axis: int, op: str) -> None:
    graph, x = Graph(), random(5, 77)
    rows = graph.through_bytes("x", 0.03, 1, x_type)
    shape = (77, 45) if axis else (45, 77)
    zero = codes((45,), np.int8, 2)
    w = graph.weights(codes(shape, np.int8), np.linspace(0.001, 0.01, 45), zero, axis)
    y = graph.node("Gemm", rows, w, transB=1) if op == "Gemm" else graph.node("MatMul", rows, w)
    y = graph.node("QuantizeLinear", y, graph.constant(0.5), graph.constant(0, np.int8))
    text = check_steps(graph, x, y, chip, 1)
    assert any(f"tensor<5x77xi8>, tensor<{one}xi8>" in text for one in ("77x45", "45x77"))


def test_values_that_stay_quantised_are_not_rounded_again() -> None:
    """MaxPool, Transpose and Reshape between equal scales and zero points operate on quantised values."""
    graph, x = Graph(), random(1, 4, 6, 6)
    y = graph.through_bytes("x", 0.02, 7, np.uint8)
    y = graph.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = graph.through_bytes(y, 0.02, 7, np.uint8)
    y = graph.node("Transpose", y, perm=[0, 2, 3, 1])
    y = graph.through_bytes(y, 0.02, 7, np.uint8)
    y = graph.node("Reshape", y, graph.constant([1, 36], np.int64))
    y = graph.node("QuantizeLinear", y, graph.constant(0.02), graph.constant(7, np.uint8))
    text = check_steps(graph, x, y, "tiny", 0)
    assert text.count("dataflow.quantize") == 1
    assert "tensor<1x4x3x3xi8>" in text


@pytest.mark.parametrize("op", ["Add", "Mul", "Sigmoid", "GlobalAveragePool", "AveragePool", "LeakyRelu"])
@pytest.mark.parametrize("dtype", BYTES)
def test_operators_between_quantised_values(op: str, dtype: Any) -> None:
    graph, x = Graph(), random(2, 4, 6, 6)
    a = graph.through_bytes("x", 0.02, 9, dtype)
    b = graph.through_bytes(graph.node("Neg", "x"), 0.03, 2, dtype)
    attributes = {"kernel_shape": [3, 3]} if op == "AveragePool" else {}
    y = graph.node(op, *([a, b] if op in ("Add", "Mul") else [a]), **attributes)
    y = graph.node("QuantizeLinear", y, graph.constant(0.013), graph.constant(4, dtype))
    check_steps(graph, x, y, "edge", 1)


def test_concat_of_parts_with_different_scales() -> None:
    graph, x = Graph(), random(1, 3, 5, 5)
    a, b, c = (graph.through_bytes("x", scale, zero, np.int8) for scale, zero in ((0.02, 7), (0.05, 100), (0.03, 7)))
    y = graph.node("Concat", a, b, c, axis=1)
    y = graph.node("QuantizeLinear", y, graph.constant(0.05), graph.constant(100, np.int8))
    text = check_steps(graph, x, y, "tiny", 1)
    assert "dataflow.concat" in text
    assert "(tensor<1x3x5x5xi8>, tensor<1x3x5x5xi8>, tensor<1x3x5x5xi8>)" in text


@pytest.mark.parametrize("chip", ["tiny", "edge"])
@pytest.mark.parametrize("zero", [0, 200])
def test_successive_quantised_convolutions_are_exact(chip: str, zero: int) -> None:
    """QLinearConv twice, with padding by the zero point, in groups, with a scale for each channel."""
    graph, x = Graph(), codes((1, 8, 7, 7), np.uint8)
    last, at = "x", (graph.constant(0.02), graph.constant(zero, np.uint8))
    for number, groups in enumerate((1, 4)):
        w = graph.constant(codes((8, 8 // groups, 3, 3), np.int8, number), np.int8)
        scale = graph.constant(np.linspace(0.001, 0.003, 8))
        to = graph.constant(0.1), graph.constant(77 + number, np.uint8)
        bias = graph.constant(np.arange(8) * 1000, np.int32)
        last = graph.node(
            "QLinearConv", last, *at, w, scale, graph.constant(np.zeros(8), np.int8), *to, bias,
            pads=[1, 1, 1, 1], group=groups,
        )  # fmt: skip
        at = to
    text = check_steps(graph, x, last, chip, 0)
    assert text.count("tensor<1x8x7x7xi8>, tensor<8x") == 2


@pytest.mark.parametrize("chip", ["tiny", "edge"])
@pytest.mark.parametrize("zeros", [False, True])
def test_products_of_values_quantised_by_their_range(chip: str, zeros: bool) -> None:
    """DynamicQuantizeLinear and MatMulInteger, then Cast and Mul, as in models of ONNX Runtime's dynamic quantiser."""
    graph, x = Graph(), random(6, 50) + 0.5
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]))
    weights = graph.constant(codes((50, 30), np.int8), np.int8)
    zero = [graph.constant(codes((30,), np.int8, 1), np.int8)] if zeros else []
    y = graph.node("Cast", graph.node("MatMulInteger", "q", weights, "z", *zero), to=TensorProto.FLOAT)
    y = graph.node("Mul", y, graph.node("Mul", "s", graph.constant(0.01)))
    model = graph.model(x, y)
    (expected,) = run_reference(model, {"x": x}).values()
    got = compile(model, chip).run({"x": x}, check=True).outputs[y]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * float(np.abs(expected).max()))
    assert "tensor<6x50xi8>, tensor<50x30xi8>" in str(import_onnx(model))


def test_padding_of_a_convolution_with_a_zero_point_known_at_run_time() -> None:
    graph, x = Graph(), random(1, 3, 6, 6) - 0.2
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]))
    w = graph.constant(codes((4, 3, 3, 3), np.uint8), np.uint8)
    y = graph.node("ConvInteger", "q", w, "z", graph.constant(128, np.uint8), pads=[1, 1, 0, 2])
    text = check_steps(graph, x, y, "edge", 0)
    assert text.count("dataflow.conv ") == 1


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [0, 1, 2, 1]])
def test_zero_points_of_image_and_weights_known_at_run_time_and_at_import(groups: int, pads: list[int]) -> None:
    graph, x = Graph(), random(2, 3, 6, 6) + 0.4
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]))
    w = graph.constant(codes((6, 3 // groups, 3, 2), np.uint8), np.uint8)
    zero = graph.constant(20, np.uint8)
    y = graph.node("ConvInteger", "q", w, "z", zero, pads=pads, group=groups, strides=[1, 2])
    check_steps(graph, x, y, "edge", 0)


def test_sums_that_exceed_32_bits_stay_floats() -> None:
    graph, x = Graph(), np.ones((1, 40_000), np.float32)
    rows = graph.through_bytes("x", 0.01, 0, np.uint8)
    w = graph.weights(np.full((40_000, 2), 127, np.int8), np.full(2, 0.01, np.float32), axis=1)
    assert "xi32>" not in str(import_onnx(graph.model(x, graph.node("MatMul", rows, w))))
