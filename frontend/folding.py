"""Constant folding of elementwise operations in numpy, with the semantics of the `dataflow` dialect."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .tensors import BFLOAT16, Array, is_float


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))).astype(x.dtype)


def _sigmoid(x: Array) -> Array:
    wide = x.astype(np.float64)
    return (0.5 * (np.tanh(0.5 * wide) + 1.0)).astype(x.dtype)


def _div(x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return x / y
    safe = np.where(y == 0, np.ones_like(y), y)
    quotient: Array = x // safe
    # Floor division rounds down; the dialect truncates.
    quotient = quotient + ((quotient * safe != x) & ((x < 0) != (safe < 0))).astype(x.dtype)
    return np.where(y == 0, np.zeros_like(quotient), quotient)


def _mod(x: Array, y: Array) -> Array:
    return x % (y if is_float(y.dtype) else np.where(y == 0, np.ones_like(y), y))


def _fmod(x: Array, y: Array) -> Array:
    return np.fmod(x, y if is_float(y.dtype) else np.where(y == 0, np.ones_like(y), y))


def _rcp(x: Array) -> Array:
    return np.ones_like(x) / x


def _rsqrt(x: Array) -> Array:
    return _rcp(np.sqrt(x))


def _relu(x: Array) -> Array:
    return np.maximum(x, np.zeros_like(x))


def _not(x: Array) -> Array:
    return np.logical_not(x) if x.dtype == np.bool_ else np.invert(x)


UNARY: dict[str, Callable[[Array], Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": _rcp,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "sign": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "not": _not,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "relu": _relu,
}
"""Numpy's equivalent of each unary operation."""

BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _div,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": _mod,
    "fmod": _fmod,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
"""Numpy's equivalent of each binary operation."""

COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""Numpy's equivalent of each predicate."""

REDUCE: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
"""Numpy's equivalent of each reduction."""


def scatter(mode: str, data: Array, indices: Array, updates: Array, batch: int) -> Array:
    """Rows replaced (`set`; the last update wins) or combined (`add`, `max`): see `dataflow.scatter`."""
    wide = data.astype(np.float32) if data.dtype == BFLOAT16 else data.copy()  # rounded once, at the end
    position = (*np.indices((*data.shape[:batch], 1))[:batch], indices)
    match mode:
        case "add":
            np.add.at(wide, position, updates.astype(wide.dtype))
        case "max":
            np.maximum.at(wide, position, updates.astype(wide.dtype))
        case _:
            wide[position] = updates
    return wide.astype(data.dtype)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Conversion of element types: float to integer truncates, anything to bool is `!= 0`."""
    return (x != 0) if dtype == np.bool_ else x.astype(dtype)
