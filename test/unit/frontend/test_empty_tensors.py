"""Tensors with a size of 0 and loops without iterations: empty sums are 0, and empty results have the right shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from meshloom.tools.api import compile
from onnx import TensorProto, helper, parser
from reference import check, check_node, ints, model_of, random


@pytest.mark.parametrize(("shape", "axis"), [((2, 0), 0), ((0, 3), -1), ((2, 0), 1), ((0,), 0)])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("op", ["Hardmax", "Softmax", "LogSoftmax"])
def test_maxima_of_empty_tensors(op: str, shape: tuple[int, ...], axis: int, opset: int) -> None:
    check_node(op, [random(*shape)], axis=axis, opset=opset)


def test_extremum_of_an_empty_axis_is_refused() -> None:
    model = model_of([helper.make_node("ArgMax", ["x"], ["y"], axis=1)], {"x": random(2, 0)}, ["y"])
    with pytest.raises(
        InputError, match=r"operator ArgMax .* axis 1 of shape \[2, 0\] has no elements, and so no maximum"
    ):
        import_onnx(model)


@pytest.mark.parametrize(("m", "n"), [(2, 3), (0, 3), (2, 0)])
def test_quantised_products_over_empty_axes(m: int, n: int) -> None:
    a, b = np.zeros((m, 0), np.uint8), np.zeros((0, n), np.int8)
    model = model_of([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], {"a": a, "b": b}, ["y"])
    got = interpret_function(import_onnx(model), {"a": a, "b": b})["y"]
    assert (got.dtype, got.tolist()) == (np.int32, [[0] * n] * m)
    one = {name: np.asarray(value) for name, value in zip("bcefgh", [np.float32(1), np.uint8(3)] * 3, strict=True)}
    model = model_of(
        [helper.make_node("QLinearMatMul", list("abcdefgh"), ["y"])], {"a": a}, ["y"], one | {"d": b.astype(np.uint8)}
    )
    assert interpret_function(import_onnx(model), {"a": a})["y"].tolist() == [[3] * n] * m


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool", "Conv"])
@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (0, 2, 1, 2)])
def test_windows_over_empty_tensors(op: str, shape: tuple[int, ...]) -> None:
    constants = {1: random(3, 2, 1, 2)} if op == "Conv" else {}
    check_node(op, [random(*shape)], constants, kernel_shape=[1, 2], outputs=2 if op == "MaxPool" else 1)


@pytest.mark.parametrize("bias", [False, True])
def test_convolution_of_floats_without_channels(bias: bool) -> None:
    """A convolution without input channels gives zeros plus the bias, also on the chip."""
    x, w = random(1, 0, 4), random(2, 0, 3)
    operands = ["x", "w", *(["b"] if bias else [])]
    nodes = [helper.make_node("Conv", operands, ["c"]), helper.make_node("Add", ["c", "z"], ["y"])]
    constants = {"w": w} | ({"b": np.array([1, 2], np.float32)} if bias else {})
    z = random(1, 2, 2)
    model = model_of(nodes, {"x": x, "z": z}, ["y"], constants)
    expected = z + (np.array([1, 2], np.float32).reshape(1, 2, 1) if bias else 0)
    np.testing.assert_array_equal(compile(model, "tiny").run({"x": x, "z": z}, check=True).outputs["y"], expected)


def test_convolution_of_integers_without_channels() -> None:
    x, w = np.zeros((1, 0, 4), np.uint8), np.zeros((2, 0, 3), np.uint8)
    model = model_of([helper.make_node("ConvInteger", ["x", "w"], ["y"])], {"x": x, "w": w}, ["y"])
    assert interpret_function(import_onnx(model), {"x": x, "w": w})["y"].tolist() == [[[0, 0], [0, 0]]]


@pytest.mark.parametrize("x", [np.zeros((2, 3), np.float32), np.zeros((1, 0), np.float32)])
def test_a_dynamic_scale_is_never_0(x: Any) -> None:
    check_node("DynamicQuantizeLinear", [x], outputs=3)


LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (y, z) {{
  m = Constant <value = int64 {{{count}}}> ()
  c = Constant <value = bool {{{going}}}> ()
  y, z = Loop (m, c, x) <body = b (int64 i, bool c0, float[2,3] s) => (bool c1, float[2,3] s1, {declared} z1) {{
    c1 = Identity (c0)
    s1 = Relu (s)
    z1 = Concat <axis = 1> (s, s)
  }}>
}}"""


@pytest.mark.parametrize(("count", "going"), [(0, 1), (3, 0), (2, 1)])
@pytest.mark.parametrize("declared", ["float[2,6]", "float[N,M]", "float[]"])
def test_loop_of_no_iterations(count: int, going: int, declared: str) -> None:
    """Collected values have no rows; the shape of a row is declared by the body, or computed if it is not declared."""
    model = parser.parse_model(LOOP.format(count=count, going=going, declared=declared))
    got = interpret_function(import_onnx(model), {"x": random(2, 3)})
    assert got["z"].shape == ((count if going else 0), 2, 6)
    assert got["y"].shape == (2, 3)
    if declared == "float[2,6]":
        check(model, {"x": random(2, 3)})


def test_scan_of_no_steps() -> None:
    names = ("state", "part", "next", "out")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in names]
    nodes = [helper.make_node("Max", names[:2], [names[2]]), helper.make_node("Sub", names[1::-1], [names[3]])]
    body = helper.make_graph(nodes, "body", values[:2], values[2:])
    node = helper.make_node("Scan", ["s", "x"], ["last", "all"], body=body, num_scan_inputs=1, scan_output_axes=[-1])
    model = model_of([node], {"s": random(3), "x": random(0, 3)}, ["last", "all"])
    got = interpret_function(import_onnx(model), {"s": random(3), "x": random(0, 3)})
    np.testing.assert_array_equal(got["last"], random(3))
    assert got["all"].shape == (3, 0)


def test_einsum_over_an_empty_axis() -> None:
    model = model_of(
        [helper.make_node("Einsum", ["x", "y"], ["z"], equation="ij,jk->ik")],
        {"x": random(2, 0)},
        ["z"],
        {"y": random(0, 3)},
    )
    assert interpret_function(import_onnx(model), {"x": random(2, 0)})["z"].tolist() == [[0] * 3] * 2


def test_reshape_and_concat_of_empty_tensors() -> None:
    check_node("Concat", [random(2, 0), random(2, 3)], axis=1)
    check_node("Reshape", [random(2, 0)], {1: ints(0, 5, 2)}, allowzero=1)
