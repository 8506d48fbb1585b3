"""Storage-only types: conversions compared with ml_dtypes bit by bit, and rejected uses."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from numpy.typing import NDArray
from onnx import helper
from reference import random

Array = NDArray[Any]
FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn")
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
"""All values of f16."""


def floats(values: Sequence[float]) -> Array:
    """An f32 vector."""
    return np.asarray(values, np.float32)


def cast(x: Array, to: Any, known: bool = False, **attributes: Any) -> Array:
    """The result of an ONNX Cast of x, at run time or at import, in the type that represents it."""
    source, target = (helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for dtype in (x.dtype, to))
    node = helper.make_node("Cast", ["x"], ["y"], to=target, **attributes)
    infos = [helper.make_tensor_value_info("x", source, x.shape)]
    graph = helper.make_graph([node], "test", infos, [helper.make_tensor_value_info("y", target, x.shape)])
    module = import_onnx(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]), values={"x": x} if known else None
    )
    module.verify()
    return interpret_function(module, {} if known else {"x": x})["y"]


def assert_same(held: Array, expected: Array) -> None:
    """Assert equal values, including NaN and the sign of zero."""
    wide = expected.astype(held.dtype)
    np.testing.assert_array_equal(held, wide)
    np.testing.assert_array_equal(np.signbit(held) & (held == 0), np.signbit(wide) & (wide == 0))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("known", [False, True])
def test_floats_are_rounded_as_ml_dtypes_does(name: str, saturate: int, known: bool) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    limit = float(typing.cast(Any, ml_dtypes).finfo(dtype).max)
    singles = np.concatenate([random(1000) * np.float32(2.0**e) for e in range(-20, 21, 4)])
    for x in (HALVES, singles):
        if name == "float4_e2m1fn":
            x = x[~np.isnan(x)]  # the type has no NaN
        with np.errstate(all="ignore"):
            expected = (np.clip(x.astype(np.float32), -limit, limit) if saturate else x).astype(dtype)
        assert_same(cast(x, dtype, known, saturate=saturate), expected)


def test_powers_of_two() -> None:
    dtype = np.dtype(ml_dtypes.float8_e8m0fnu)
    x = floats([2.0**-127, 2.0**-126, 1, 1.1, 1.5, 1.75, 2, 3, 1e30, 2.0**127, np.nan])
    below = floats([2.0**-127, 2.0**-126, 1, 1, 1, 1, 2, 2, 2.0**99, 2.0**127, np.nan])
    with np.errstate(over="ignore"):
        above = np.where(x > below, below * 2, below)
        nearest = np.where(x >= 1.5 * below, below * 2, below)
    for mode, expected in (("down", below), ("up", above), ("nearest", nearest)):
        np.testing.assert_array_equal(cast(x, dtype, round_mode=mode), expected)
    beyond = floats([0, np.inf, 3e38])
    np.testing.assert_array_equal(cast(beyond, dtype), floats([2.0**-127, 2.0**127, 2.0**127]))
    np.testing.assert_array_equal(cast(beyond, dtype, saturate=0)[1:], floats([np.nan, np.nan]))


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4"])
@pytest.mark.parametrize("known", [False, True])
def test_integers_keep_their_low_bits(name: str, known: bool) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    bits = int(ml_dtypes.iinfo(dtype).bits)
    x = np.arange(-300, 300, dtype=np.int32)
    expected = x % (1 << bits)
    if not name.startswith("u"):
        expected = np.where(expected < 1 << (bits - 1), expected, expected - (1 << bits))
    np.testing.assert_array_equal(cast(x, dtype, known), expected)
    inside = np.arange(0, 1 << (bits - 1), dtype=np.float32)
    np.testing.assert_array_equal(cast(inside + np.float32(0.75), dtype, known), inside)


def test_arithmetic_on_narrow_types_is_refused() -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(ml_dtypes.int4))
    infos = [helper.make_tensor_value_info(name, kind, (3,)) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "test", infos[:1], infos[1:])
    with pytest.raises(InputError, match="no arithmetic on int4: convert it with Cast"):
        import_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
