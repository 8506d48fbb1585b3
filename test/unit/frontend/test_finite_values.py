"""Cheaper operations between quantised values have the results of the operations that they replace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.finite_values import Clamp, FiniteValues, Line, factor_for, function_of_source
from meshloom.frontend.onnx_import import import_onnx
from meshloom.frontend.tensors import Tensor
from onnx import helper
from reference import Array, model_of, run_reference

CODES = np.arange(-128, 128).astype(np.int8)
SCALES = st.floats(0.125, 2, width=32)
ZEROS = st.integers(-128, 127)


def quantised(x: Array, scale: np.float32, zero: int) -> Array:
    """ONNX's QuantizeLinear to int8, written out."""
    return np.clip(np.rint(x / scale) + zero, -128, 127)


@settings(deadline=None)
@given(of=st.tuples(SCALES, ZEROS), to=st.tuples(SCALES, ZEROS), relu=st.booleans())
def test_functions_of_the_source(of: tuple[float, int], to: tuple[float, int], relu: bool) -> None:
    values = (CODES.astype(np.float32) - np.float32(of[1])) * np.float32(of[0])
    values = np.maximum(values, 0) if relu else values
    scale, zero = np.float32(to[0]), to[1]
    wanted = quantised(values, scale, zero)
    source = Tensor((256,), np.dtype(np.int8))
    found = function_of_source(FiniteValues(values, source), scale, zero)
    if isinstance(found, Clamp):
        np.testing.assert_array_equal(np.clip(CODES, found.low, found.high), wanted)
    if isinstance(found, Line):
        scaled = (CODES.astype(np.float32) + found.offset) * found.factor
        np.testing.assert_array_equal(np.clip(np.rint(scaled) + found.zero, -128, 127), wanted)
    factor = factor_for(FiniteValues(values), scale, zero)
    if factor is not None and factor.array is not None:
        np.testing.assert_array_equal(np.clip(np.rint(values * factor.array) + zero, -128, 127), wanted)


def between(op: str, dtype: Any, scale: float, zero: int, to: tuple[float, int], **attributes: Any) -> Any:
    """DequantizeLinear, an operator, QuantizeLinear; the input has all values of the type."""
    info = np.iinfo(dtype)
    x = np.arange(info.min, info.max + 1).astype(dtype)
    values = {"s": (scale, np.float32), "z": (zero, dtype), "t": (to[0], np.float32), "u": (to[1], dtype)}
    constants = {name: np.asarray(value, of) for name, (value, of) in values.items()}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node(op, ["a", "a"] if op in ("Add", "Mul") else ["a"], ["b"], **attributes),
        helper.make_node("QuantizeLinear", ["b", "t", "u"], ["y"]),
    ]
    return model_of(nodes, {"x": x}, ["y"], constants), x


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("op", ["Relu", "LeakyRelu", "HardSwish", "HardSigmoid", "Add", "Mul", "Neg", "Identity"])
def test_results_equal_onnx_runtimes(op: str, dtype: Any) -> None:
    model, x = between(op, dtype, 0.047, 21, (0.031, 60))
    (expected,) = run_reference(model, {"x": x}).values()
    module = import_onnx(model)
    (got,) = interpret_function(module, {"x": x}).values()
    np.testing.assert_array_equal(got, expected)
    assert "dataflow.div" not in str(module)


def test_relu_of_equal_steps_is_a_maximum_of_integers() -> None:
    model, _ = between("Relu", np.int8, 0.5, 3, (0.5, 3))
    text = str(import_onnx(model))
    assert "dataflow.maximum" in text
    assert "f32>) -> tensor<256xf32>" not in text


def test_values_quantised_here_are_quantised_to_uint8_where_that_needs_no_addition() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["b"]),
        helper.make_node("QuantizeLinear", ["b", "t", "z"], ["y"]),
    ]
    scales = {"s": np.array([0.02], np.float32), "t": np.array([0.03], np.float32)}
    constants = {**scales, "z": np.zeros(1, np.uint8)}
    x = np.linspace(-1, 8, 300, dtype=np.float32)
    model = model_of(nodes, {"x": x}, ["y"], constants)
    (expected,) = run_reference(model, {"x": x}).values()
    module = import_onnx(model)
    np.testing.assert_array_equal(interpret_function(module, {"x": x})["y"], expected)
    assert "dataflow.add" not in str(module)
