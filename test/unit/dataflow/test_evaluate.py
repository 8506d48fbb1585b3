"""Reference semantics of operations, compared with ONNX Runtime where it has the operator, else with known values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow import (
    ArgReduceOp,
    CastOp,
    ConvOp,
    CumsumOp,
    DataflowOp,
    DivOp,
    ErfOp,
    FmodOp,
    GatherOp,
    MatmulOp,
    ModOp,
    PadOp,
    PowOp,
    ReduceOp,
    ReduceWindowOp,
    RoundOp,
    SigmoidOp,
    SliceOp,
)
from meshloom.dialects.dataflow.base import ComputedOp
from meshloom.dialects.dataflow.constants import Array, narrow_bf16, numpy_type, widen_bf16
from meshloom.dialects.dataflow.elementwise.unary import UnaryOp
from meshloom.dialects.dataflow.evaluate import evaluate
from meshloom.dialects.dataflow.types import tensor
from meshloom.support.errors import MeshloomError
from xdsl.dialects.builtin import bf16, f16, f32, i1, i8, i32, i64
from xdsl.dialects.test import TestOp as OpaqueOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition


def value(array: Array, element: Attribute = f32) -> SSAValue:
    assert array.dtype == numpy_type(element)
    return OpaqueOp(result_types=[tensor(element, array.shape)]).results[0]


def random(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def run_onnx(kind: str, arrays: Sequence[Array], **attributes: Any) -> Array:
    """The result of one ONNX node of opset 17 in ONNX Runtime."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    names = [f"x{number}" for number in range(len(arrays))]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    node = helper.make_node(kind, names, ["y"], **attributes)
    graph = helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, arrays, strict=True)))[0]


def assert_close(op: DataflowOp, arrays: Sequence[Array], expected: Array) -> None:
    op.verify()
    actual = evaluate(op, arrays)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "w", "strides", "dilations", "low", "high", "groups"),
    [
        ((2, 3, 9, 8), (4, 3, 3, 3), (2, 1), (1, 1), (1, 0), (1, 2), 1),
        ((1, 6, 7, 7), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 6),
        ((1, 6, 7, 7), (9, 2, 3, 1), (1, 2), (2, 1), (2, 0), (2, 0), 3),
        ((2, 4, 11), (5, 4, 3), (3,), (2,), (1,), (0,), 1),
        ((1, 2, 4, 5, 6), (3, 2, 2, 2, 3), (1, 2, 1), (1, 1, 1), (0, 1, 1), (0, 1, 1), 1),
        ((1, 8, 1, 1), (8, 2, 1, 1), (1, 1), (1, 1), (0, 0), (0, 0), 4),
    ],
)
def test_conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    low: tuple[int, ...],
    high: tuple[int, ...],
    groups: int,
) -> None:
    arrays = [random(*x), random(*w)]
    op = ConvOp(
        value(arrays[0]),
        value(arrays[1]),
        strides=strides,
        dilations=dilations,
        pad_low=low,
        pad_high=high,
        groups=groups,
    )
    expected = run_onnx("Conv", arrays, strides=strides, dilations=dilations, pads=(*low, *high), group=groups)
    assert_close(op, arrays, expected)


def test_max_pool() -> None:
    x = random(1, 3, 9, 8)
    op = ReduceWindowOp(
        value(x), "max", (1, 1, 3, 2), strides=(1, 1, 2, 1), pad_low=(0, 0, 1, 0), pad_high=(0, 0, 1, 1)
    )
    assert_close(op, [x], run_onnx("MaxPool", [x], kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1)))


@pytest.mark.parametrize(
    ("a", "b"), [((3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4, 4), (2, 3, 4, 1)), ((1, 7, 300), (300, 9))]
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    arrays = [random(*a), random(*b)]
    assert_close(MatmulOp(value(arrays[0]), value(arrays[1])), arrays, run_onnx("MatMul", arrays))
    turned = [np.ascontiguousarray(np.swapaxes(array, -1, -2)) for array in arrays]
    op = MatmulOp(value(turned[0]), value(turned[1]), transpose_a=True, transpose_b=True)
    assert_close(op, turned, run_onnx("MatMul", arrays))


def test_functions() -> None:
    x = np.concatenate([random(60) * 4, np.array([0.5, -0.5, 1.5, 2.5, 100, -100], np.float32)])
    assert_close(ErfOp(value(x)), [x], run_onnx("Erf", [x]))
    assert_close(SigmoidOp(value(x)), [x], run_onnx("Sigmoid", [x]))
    assert_close(RoundOp(value(x)), [x], run_onnx("Round", [x]))


def test_remainders_and_division() -> None:
    a, b = np.array([7, -7, 7, -7, 5], np.int64), np.array([2, 2, -2, -2, 0], np.int64)
    results = {op: evaluate(op(value(a, i64), value(b, i64)), [a, b]).tolist() for op in (DivOp, ModOp, FmodOp)}
    assert results[DivOp] == [3, -3, -3, 3, 0]
    assert results[ModOp] == [1, 1, -1, -1, 0]
    assert results[FmodOp] == [1, -1, 1, -1, 0]
    base, power = np.array([2, -1, 3, 1], np.int32), np.array([3, -3, -1, -5], np.int32)
    assert evaluate(PowOp(value(base, i32), value(power, i32)), [base, power]).tolist() == [8, -1, 0, 1]


def test_narrow_types_sum_wide() -> None:
    """
    Sums of narrow types are accumulated in wider ones.

    300 products of 100 * 100 need 22 bits; 256 + 8 * 0.5 in bf16 and 2048 + 8 * 0.5 in f16 are exact only without
    rounding after each addition.
    """
    a = np.full((1, 300), 100, np.int8)
    b = np.full((300, 1), 100, np.int8)
    product = evaluate(MatmulOp(value(a, i8), value(b, i8)), [a, b])
    assert product.dtype == np.int32
    assert product.item() == 3_000_000
    x = narrow_bf16(np.array([256, *[0.5] * 8], np.float32))
    total = evaluate(ReduceOp(value(x, bf16), "sum", [0]), [x])
    assert widen_bf16(total).item() == 260
    half = np.array([2048, *[0.5] * 8], np.float16)
    assert evaluate(ReduceOp(value(half, f16), "sum", [0]), [half]).item() == 2052


def test_casts() -> None:
    x = np.array([-1.9, -0.0, 0.3, 2.9], np.float32)
    assert evaluate(CastOp(value(x), i32), [x]).tolist() == [-1, 0, 0, 2]
    assert evaluate(CastOp(value(x), i1), [x]).tolist() == [True, False, True, True]
    mask = np.array([True, False])
    assert evaluate(CastOp(value(mask, i1), f32), [mask]).tolist() == [1.0, 0.0]


def test_along_axes() -> None:
    x = np.array([[3, 1, 3], [2, 5, 5]], np.float32)
    assert evaluate(ArgReduceOp(value(x), "max", 1), [x]).tolist() == [[0], [1]]
    total = evaluate(CumsumOp(value(x), 1, exclusive=True, reverse=True), [x])
    assert total.tolist() == [[4, 3, 0], [10, 5, 0]]
    assert evaluate(ReduceOp(value(x), "prod", [0, 1]), [x]).tolist() == [[450]]


def test_movement() -> None:
    x = np.arange(5, dtype=np.float32)
    assert evaluate(SliceOp(value(x), [4], [3], [-2]), [x]).tolist() == [4, 2, 0]
    assert evaluate(PadOp(value(x), [1], [0], [1], value=9), [x]).tolist() == [9, 0, 9, 1, 9, 2, 9, 3, 9, 4]
    rows = np.array([-1, 0], np.int64)
    assert evaluate(GatherOp(value(x), value(rows, i64)), [x, rows]).tolist() == [4, 0]
    wrong = np.array([5, 0], np.int64)
    with pytest.raises(MeshloomError, match=r"index 5 is outside \[-5, 5\)"):
        evaluate(GatherOp(value(x), value(wrong, i64)), [x, wrong])


@irdl_op_definition
class CubeOp(UnaryOp, ComputedOp):
    name = "test.cube"

    def compute(self, operands: Sequence[Array]) -> Array:
        return operands[0] ** 3


def test_an_operation_that_computes_its_result_gets_numbers() -> None:
    """bf16 is stored as bits, but the operation gets f32, and its result is rounded."""
    x = np.array([0.5, 1.5, -2], np.float32)
    cubes = [0.125, 3.375, -8]
    assert evaluate(CubeOp(value(x)), [x]).tolist() == cubes
    half = x.astype(np.float16)
    assert evaluate(CubeOp(value(half, f16)), [half]).dtype == np.float16
    bits = narrow_bf16(x)
    assert widen_bf16(evaluate(CubeOp(value(bits, bf16)), [bits])).tolist() == cubes
