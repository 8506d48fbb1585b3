"""ONNX Runtime's own quantised operators against its kernels: differences of at most one step, most results equal."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from onnx import helper
from reference import Array, check, check_node, model_of, random, run_reference

check_microsoft = partial(check_node, domain="com.microsoft", steps=1)
OPTIONS = settings(deadline=None, max_examples=40, derandomize=True)
TYPES = st.sampled_from([np.uint8, np.int8])
SCALES = st.sampled_from([0.003, 0.02, 0.05, 0.11, 0.5, 1.0])
SEEDS = st.integers(0, 99)


def codes(dtype: Any, shape: tuple[int, ...], seed: int) -> Array:
    """Quantised values from the whole range of a type."""
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)


def zero_point(dtype: Any, seed: int) -> Array:
    """A zero point, often at an end or in the middle of the type's range."""
    info = np.iinfo(dtype)
    middle = (int(info.min) + int(info.max)) // 2
    return np.asarray([info.min, info.max, middle, codes(dtype, (), seed)][seed % 4], dtype)


def quantisation(scale: float, zero: Array | None) -> list[Array | None]:
    """The two operands that follow a quantised tensor; ONNX Runtime requires all zero points but the result's."""
    return [np.asarray(scale, np.float32), zero]


@OPTIONS
@given(
    op=st.sampled_from(["QLinearAdd", "QLinearMul"]),
    dtype=TYPES,
    shapes=st.sampled_from([((3, 5), (3, 5)), ((3, 5), (5,)), ((2, 1, 5), (3, 1)), ((4,), ()), ((), (4,))]),
    scales=st.tuples(SCALES, SCALES, SCALES),
    zeros=st.booleans(),
    known=st.booleans(),
    seed=SEEDS,
)
def test_add_and_mul(
    op: str, dtype: Any, shapes: Any, scales: tuple[float, float, float], zeros: bool, known: bool, seed: int
) -> None:
    points = [zero_point(dtype, seed + i) if zeros or i < 2 else None for i in range(3)]
    x, y = (codes(dtype, shape, seed + i) for i, shape in enumerate(shapes))
    operands = [x, *quantisation(scales[0], points[0]), y, *quantisation(scales[1], points[1])]
    _check(op, [*operands, *quantisation(scales[2], points[2])], 0, known)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantise_and_dequantise_all_types(dtype: Any, axis: int | None) -> None:
    size = () if axis is None else ((3, 5)[axis],)
    scale = np.random.default_rng(0).uniform(0.01, 0.2, size).astype(np.float32)
    attributes = {} if axis is None else {"axis": axis}
    pair = {1: scale, 2: codes(dtype, size, 1)}
    check_microsoft("QuantizeLinear", [random(3, 5)], pair, **attributes)
    check_microsoft("DequantizeLinear", [codes(dtype, (3, 5), 2)], pair, **attributes)


@OPTIONS
@given(dtype=TYPES, scales=st.tuples(SCALES, SCALES, SCALES), known=st.booleans(), seed=SEEDS)
def test_where(dtype: Any, scales: tuple[float, float, float], known: bool, seed: int) -> None:
    condition = np.random.default_rng(seed).integers(0, 2, (3, 5)).astype(np.bool_)
    operands: list[Array | None] = [condition]
    for index, shape in enumerate(((3, 5), (1, 5))):
        operands += [codes(dtype, shape, seed + index), *quantisation(scales[index], zero_point(dtype, seed + index))]
    operands += quantisation(scales[2], zero_point(dtype, seed + 2))
    if known:  # ONNX Runtime's kernel takes scales and zero points as constants only
        _check("QLinearWhere", operands, 0, known)
    else:
        fixed = {i: one for i, one in enumerate(operands) if one is not None and i not in (0, 1, 4)}
        check_microsoft("QLinearWhere", [one if i in (0, 1, 4) else None for i, one in enumerate(operands)], fixed)


@OPTIONS
@given(
    op=st.sampled_from(["QLinearSigmoid", "QLinearLeakyRelu"]),
    dtype=TYPES,
    scales=st.tuples(SCALES, SCALES),
    zeros=st.booleans(),
    alpha=st.sampled_from([0.01, 0.3, 1.5, 0.0, -0.5]),
    known=st.booleans(),
    seed=SEEDS,
)
def test_activation(
    op: str, dtype: Any, scales: tuple[float, float], zeros: bool, alpha: float, known: bool, seed: int
) -> None:
    points = [zero_point(dtype, seed + i) if zeros or i < 1 else None for i in range(2)]
    x = codes(dtype, (64,), seed)
    attributes = {"alpha": alpha} if op == "QLinearLeakyRelu" else {}
    _check(op, [x, *quantisation(scales[0], points[0]), *quantisation(scales[1], points[1])], 0, known, **attributes)


@OPTIONS
@given(dtype=TYPES, scales=st.tuples(SCALES, SCALES, SCALES), axis=st.sampled_from([0, 1, -1]), seed=SEEDS)
def test_concat(dtype: Any, scales: tuple[float, float, float], axis: int, seed: int) -> None:
    operands = [*quantisation(scales[0], zero_point(dtype, seed))]
    for index, scale in enumerate(scales[1:]):
        shape = [3, 4]
        shape[axis] += index
        operands += [codes(dtype, tuple(shape), seed + index), *quantisation(scale, zero_point(dtype, seed + index))]
    _check("QLinearConcat", operands, 2, True, axis=axis)


@OPTIONS
@given(
    dtype=TYPES,
    scale=st.sampled_from([0.003, 0.02, 0.05, 0.11]),
    result=st.sampled_from([1 / 256, 1 / 255, 0.01]),
    axis=st.sampled_from([None, 0, 1, 2, -1]),
    opset=st.sampled_from([11, 13]),
    known=st.booleans(),
    seed=SEEDS,
)
def test_softmax(dtype: Any, scale: float, result: float, axis: int | None, opset: int, known: bool, seed: int) -> None:
    zero = np.asarray(np.iinfo(dtype).min, dtype)
    x = codes(dtype, (2, 3, 7), seed)
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    operands = [x, *quantisation(scale, zero_point(dtype, seed)), *quantisation(result, zero)]
    given = {f"x{i}": one for i, one in enumerate(operands) if one is not None}
    node = helper.make_node("QLinearSoftmax", list(given), ["y"], domain="com.microsoft", opset=opset, **attributes)
    constants = {name: given.pop(name) for name in list(given)[1:]} if known else {}
    check(model_of([node], given, ["y"], constants), given, steps=1)


@OPTIONS
@given(
    dtype=TYPES, shape=st.sampled_from([(2, 3, 4, 5), (1, 2, 9), (1, 3, 2, 3, 2)]), last=st.booleans(),
    scales=st.tuples(SCALES, SCALES), seed=SEEDS,
)  # fmt: skip
def test_global_average_pool(
    dtype: Any, shape: tuple[int, ...], last: bool, scales: tuple[float, float], seed: int
) -> None:
    points = [zero_point(dtype, seed + i) for i in range(2)]
    operands = [codes(dtype, shape, seed), *quantisation(scales[0], points[0]), *quantisation(scales[1], points[1])]
    _check("QLinearGlobalAveragePool", operands, 0, True, channels_last=int(last))


@OPTIONS
@given(
    dtype=TYPES,
    pads=st.booleans(),
    strides=st.sampled_from([[1, 1], [2, 1], [2, 2]]),
    ceil=st.booleans(),
    count=st.booleans(),
    last=st.booleans(),
    zeros=st.booleans(),
    scales=st.tuples(SCALES, SCALES),
    seed=SEEDS,
)
def test_average_pool(
    dtype: Any,
    pads: bool,
    strides: list[int],
    ceil: bool,
    count: bool,
    last: bool,
    zeros: bool,
    scales: tuple[float, float],
    seed: int,
) -> None:
    points = [zero_point(dtype, seed + i) if zeros or i < 1 else None for i in range(2)]
    x = codes(dtype, (1, 6, 7, 3) if last else (2, 3, 6, 7), seed)
    operands = [x, *quantisation(scales[0], points[0]), *quantisation(scales[1], points[1])]
    attributes: dict[str, Any] = {"pads": [1, 1, 0, 1]} if pads else {}
    _check(
        "QLinearAveragePool",
        operands,
        0,
        True,
        kernel_shape=[3, 2],
        strides=strides,
        ceil_mode=int(ceil),
        count_include_pad=int(count),
        channels_last=int(last),
        **attributes,
    )


def _check(op: str, operands: list[Array | None], first: int, known: bool, **attributes: Any) -> None:
    """
    Compare one node; the operand `first` is an input, the others are constants if `known`, else inputs.

    An omitted last operand has an empty name in activations and is absent elsewhere, as ONNX Runtime requires.
    """
    if operands[-1] is None and op not in ("QLinearSigmoid", "QLinearLeakyRelu"):
        operands = operands[:-1]
    if not known:
        check_microsoft(op, operands, **attributes)
        return
    constants = {i: one for i, one in enumerate(operands) if one is not None and i != first}
    check_microsoft(op, [one if i == first else None for i, one in enumerate(operands)], constants, **attributes)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu"])
def test_nearly_all_results_equal_onnx_runtimes(op: str) -> None:
    x = np.arange(256, dtype=np.uint8)
    pair = {"x1": np.float32(0.021), "x2": np.uint8(117)}
    known: dict[str, Any] = {**pair, "x3": np.float32(0.013), "x4": np.uint8(3)}
    if op in ("QLinearAdd", "QLinearMul"):
        known = {**pair, "x3": x[::-1].copy(), "x4": np.float32(0.017), "x5": np.uint8(9)}
        known |= {"x6": np.float32(0.044), "x7": np.uint8(80)}
    node = helper.make_node(op, ["x0", *known], ["y"], domain="com.microsoft")
    model = model_of([node], {"x0": x}, ["y"], {name: np.asarray(value) for name, value in known.items()})
    got, expected = (run(model, {"x0": x})["y"] for run in (_interpreted, run_reference))
    assert np.count_nonzero(got != expected) <= 1


def _interpreted(model: Any, inputs: Any) -> dict[str, Array]:
    return interpret_function(import_onnx(model), inputs)
