"""The scalar functions of the vector unit, as functions of NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

from ....formats.pairs import high_of, low_of
from ...machine.memory import Array

Function: TypeAlias = Callable[..., Array]


def _erf_scalar(x: float) -> float:
    return math.erf(x)


@cache
def _erf() -> Function:
    from numba import vectorize  # pyright: ignore[reportUnknownVariableType]

    return cast("Function", vectorize(["float64(float64)"], cache=True)(_erf_scalar))


def erf(x: Array) -> Array:
    """The error function, computed in f64 and rounded to the type of `x`."""
    return _erf()(x).astype(x.dtype)


def _rsqrt(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def _reciprocal(x: Array) -> Array:
    return np.reciprocal(x) if x.dtype.kind == "f" else truncating_divide(np.ones_like(x), x)


def _sigmoid(x: Array) -> Array:
    y = np.exp(np.negative(x))
    y += y.dtype.type(1)
    return np.reciprocal(y, out=y) if y.ndim else np.reciprocal(y)


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def _identity(x: Array) -> Array:
    return x


def _negative(x: Array) -> Array:
    return np.logical_not(x) if x.dtype == np.bool_ else np.negative(x)


def _sign(x: Array) -> Array:
    return x if x.dtype == np.bool_ else np.sign(x)


def _whole(function: Function) -> Function:
    """A rounding function that returns integers and booleans unchanged."""

    def rounded(x: Array) -> Array:
        return function(x) if x.dtype.kind == "f" else x

    return rounded


def truncating_divide(a: Array, b: Array) -> Array:
    """a / b; for integers rounded towards zero, with x / 0 = 0, and wrapping on overflow."""
    if np.result_type(a, b).kind == "f":
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    inexact = (np.multiply(quotient, b) != a) & ((a < 0) != (b < 0)) & (b != 0)
    return np.add(quotient, inexact, dtype=quotient.dtype)


def _power(a: Array, b: Array) -> Array:
    if np.result_type(a, b).kind != "i" or not np.any(b < 0):
        return np.power(a, b)
    positive = np.power(a, np.maximum(b, 0))
    odd = (b & 1) == 1
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    return np.where(b < 0, inverse, positive).astype(positive.dtype)


def _subtract(a: Array, b: Array) -> Array:
    return np.logical_xor(a, b) if np.result_type(a, b) == np.bool_ else np.subtract(a, b)


UNARY: dict[str, Function] = {
    "mov": _identity,
    "neg": _negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "rcp": _reciprocal,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": erf,
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "round": _whole(np.rint),
    "sign": _sign,
    "sin": np.sin,
    "cos": np.cos,
    "not": np.invert,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "relu": _relu,
    "low4": low_of,
    "high4": high_of,
}
"""The vector unit's functions of one operand, on its arithmetic type."""

BINARY: dict[str, Function] = {
    "add": np.add,
    "sub": _subtract,
    "mul": np.multiply,
    "div": truncating_divide,
    "pow": _power,
    "max": np.maximum,
    "min": np.minimum,
    "mod": np.remainder,
    "fmod": np.fmod,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""The vector unit's functions of two operands; the results of comparisons are booleans."""

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

DIRECT: dict[str, Any] = {
    name: function
    for name, function in {**UNARY, **BINARY, "sub": np.subtract}.items()
    if isinstance(function, np.ufunc)
}
"""Functions whose results NumPy can write directly to the destination."""

FLOAT_ONLY = frozenset({"exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos"})
"""Functions that are not defined on integers."""
