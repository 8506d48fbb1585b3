"""Tests that the reference's integer products are exact, also on processors where ONNX Runtime's saturate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.tools import oracle
from meshloom.tools.exact_products import SECOND, with_exact_products
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

Array = NDArray[Any]
F32, U8, I8, I32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32
SMALL = 64
"""With factors of at most this magnitude, sums of two products with u8 fit in 16 bits, exact on all processors."""


def small(*shape: int) -> Array:
    return np.random.default_rng(0).integers(-SMALL, SMALL, shape, np.int8)


def steps(*shape: int) -> Array:
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def floats(*shape: int) -> Array:
    return np.random.default_rng(2).uniform(-1, 1, shape).astype(np.float32)


SCALE, U8_ZERO, I8_ZERO = np.float32(0.01), np.uint8(7), np.int8(0)
OPERANDS: dict[str, list[Any]] = {
    "MatMulInteger": [steps(3, 8), small(8, 5), U8_ZERO],
    "ConvInteger": [steps(1, 2, 6, 6), small(3, 2, 3, 3), U8_ZERO],
    "QLinearMatMul": [steps(3, 8), SCALE, U8_ZERO, small(8, 5), SCALE, I8_ZERO, SCALE, U8_ZERO],
    "QLinearConv": [
        *(steps(1, 2, 6, 6), SCALE, U8_ZERO, small(3, 2, 3, 3), np.full(3, SCALE), np.zeros(3, np.int8)),
        *(SCALE, U8_ZERO),
    ],
    "QGemm": [steps(3, 8), SCALE, U8_ZERO, small(8, 5), SCALE, I8_ZERO, None, SCALE, U8_ZERO],
    "DynamicQuantizeMatMul": [floats(3, 8), small(8, 5), SCALE],
    "MatMulIntegerToFloat": [steps(3, 8), small(8, 5), SCALE, SCALE],
    "QAttention": [steps(1, 3, 8), small(8, 24), floats(24), SCALE, SCALE, None, U8_ZERO, I8_ZERO],
    "DynamicQuantizeLSTM": [
        *(floats(3, 1, 5), small(1, 5, 16), small(1, 4, 16), None, None, None, None, None),
        *(np.full(1, SCALE), np.zeros(1, np.int8), np.full(1, SCALE), np.zeros(1, np.int8)),
    ],
}
ATTRIBUTES: dict[str, dict[str, Any]] = {"QAttention": {"num_heads": 2}, "DynamicQuantizeLSTM": {"hidden_size": 4}}


def model_of(op: str, values: list[Any], computed: bool = False) -> tuple[ModelProto, dict[str, Array]]:
    """
    A model of one node, and its inputs.

    The operands are initialisers, except for the first one and, with `computed`, all matrices.
    """
    known = {f"x{index}": np.asarray(value) for index, value in enumerate(values) if value is not None}
    domain = "" if op in ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv") else "com.microsoft"
    names = [f"x{index}" if value is not None else "" for index, value in enumerate(values)]
    nodes = [helper.make_node(op, names, ["y"], "node", domain=domain, **ATTRIBUTES.get(op, {}))]
    inputs = {"x0": known["x0"]}
    if computed:
        inputs |= {name: value for name, value in known.items() if value.ndim == 2}
    infos = [helper.make_tensor_value_info(name, _type(x), x.shape) for name, x in inputs.items()]
    rest = [numpy_helper.from_array(x, name) for name, x in known.items() if name not in inputs]
    graph = helper.make_graph(nodes, "one", infos, [helper.make_empty_tensor_value_info("y")], rest)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), inputs


def _type(value: Array) -> int:
    return helper.np_dtype_to_tensor_dtype(value.dtype)


@pytest.mark.parametrize("op", SECOND)
def test_exact_products_compute_the_same_function(op: str) -> None:
    model, inputs = model_of(op, OPERANDS[op])
    exact = with_exact_products(model)
    changed = [name for name in exact.graph.node[-1].input if "unsigned" in name]
    assert len(changed) == 2 * len(SECOND[op])
    expected = Oracle(model.SerializeToString()).run(inputs)["y"]
    np.testing.assert_array_equal(Oracle(exact.SerializeToString()).run(inputs)["y"], expected)


@pytest.mark.parametrize("computed", [False, True])
def test_products_that_saturate_are_exact(computed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "saturates", lambda: True)
    left, right = np.full((2, 6), 255, np.uint8), np.full((6, 3), 127, np.int8)
    model, inputs = model_of("MatMulInteger", [left, right], computed)
    np.testing.assert_array_equal(Oracle(model.SerializeToString()).run(inputs)["y"], np.full((2, 3), 6 * 255 * 127))


@pytest.mark.parametrize("op", "MatMulInteger ConvInteger QLinearMatMul QLinearConv QGemm MatMulIntegerToFloat".split())
def test_first_operands_and_results_of_i8(op: str) -> None:
    def signed(value: Any) -> Any:
        if getattr(value, "dtype", None) == np.uint8:
            return (value.astype(np.int16) - 128).astype(np.int8)
        return value

    model, inputs = model_of(op, [signed(value) for value in OPERANDS[op]])
    exact = with_exact_products(model)
    assert all(tensor.data_type != I8 for tensor in exact.graph.initializer if "unsigned" in tensor.name)
    expected = Oracle(model.SerializeToString()).run(inputs)["y"]
    got = Oracle(exact.SerializeToString()).run(inputs)["y"]
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_inside_a_branch() -> None:
    branches: list[Any] = []
    for name in ("then", "else"):
        node = helper.make_node("MatMulInteger", ["x0", "x1"], [name])
        branches.append(helper.make_graph([node], name, [], [helper.make_empty_tensor_value_info(name)]))
    model, inputs = model_of("MatMulInteger", OPERANDS["MatMulInteger"])
    node = helper.make_node("If", ["condition"], ["y"], then_branch=branches[0], else_branch=branches[1])
    del model.graph.node[:]
    model.graph.node.append(node)
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(True), "condition"))
    got = Oracle(with_exact_products(model).SerializeToString()).run(inputs)["y"]
    left, right = (np.asarray(x).astype(np.int32) for x in OPERANDS["MatMulInteger"][:2])
    np.testing.assert_array_equal(got, left @ right)


def test_floats_are_not_rounded_before_products_with_narrow_weights() -> None:
    """Inputs of MatMulNBits are not rounded to 8 bits, although `accuracy_level` 4 allows that."""
    weights = np.random.default_rng(3).integers(0, 256, (32, 2, 16), np.uint8)
    known = [("w", weights), ("s", np.ones(64, np.float32))]
    outputs: list[Array] = []
    for level in (0, 4):
        node = helper.make_node(
            "MatMulNBits",
            ["x", "w", "s"],
            ["y"],
            K=64,
            N=32,
            block_size=32,
            accuracy_level=level,
            domain="com.microsoft",
        )
        info = [helper.make_tensor_value_info(name, F32, shape) for name, shape in (("x", [3, 64]), ("y", [3, 32]))]
        graph = helper.make_graph(
            [node], "few", info[:1], info[1:], [numpy_helper.from_array(value, name) for name, value in known]
        )
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8)
        outputs.append(Oracle(model.SerializeToString()).run({"x": floats(3, 64)})["y"])
    assert np.array_equal(outputs[0], outputs[1])
