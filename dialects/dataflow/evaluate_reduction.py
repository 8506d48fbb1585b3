"""Reference semantics of reductions, in numpy. Operands are in computing form (bf16 widened to f32)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .base import ints
from .constants import Array, scalar_array
from .evaluate_contraction import window_views
from .reduction import ArgReduceOp, CumsumOp, ReduceOp, ReduceWindowOp, Reduction, identity
from .types import element_of, is_float

_REDUCE: dict[Reduction, Any] = {
    Reduction.SUM: np.add,
    Reduction.MAX: np.maximum,
    Reduction.MIN: np.minimum,
    Reduction.PROD: np.multiply,
}


def _sum_type(x: Array) -> np.dtype[Any]:
    """The type in which sums are computed: f32 for f16."""
    return np.dtype(np.float32) if x.dtype == np.float16 else x.dtype


def evaluate_reduce(op: ReduceOp, x: Array) -> Array:
    """The reduction, in which reduced axes have size 1; over no elements it is the identity of the kind."""
    kind = op.kind.data
    function = _REDUCE[kind]
    start = identity(kind, element_of(op.operand))
    axes = ints(op.axes)
    if not axes:
        return x
    if any(x.shape[axis] == 0 for axis in axes):
        shape = [1 if dim in axes else size for dim, size in enumerate(x.shape)]
        return np.full(shape, start, x.dtype)
    result: Array = function.reduce(x, axis=axes, dtype=_sum_type(x), keepdims=True)
    return result


def evaluate_reduce_window(op: ReduceWindowOp, x: Array) -> Array:
    """The reductions of all windows: one pass over all positions for each element of the window."""
    kind = op.kind.data
    element = element_of(op.operand)
    fill = scalar_array(identity(kind, element), element) if not is_float(element) else identity(kind, element)
    pads = list(zip(ints(op.pad_low), ints(op.pad_high), strict=True))
    padded = np.pad(x, pads, constant_values=fill) if any(map(any, pads)) else x
    window = ints(op.window)
    windows = window_views(np.ascontiguousarray(padded), window, ints(op.strides), ints(op.dilations))
    function: Callable[..., Array] = _REDUCE[kind]
    positions = itertools.product(*map(range, window))
    total = windows[(..., *next(positions))].astype(_sum_type(x))
    for position in positions:
        function(total, windows[(..., *position)], out=total)
    return total


def evaluate_arg_reduce(op: ArgReduceOp, x: Array) -> Array:
    """Index of the first extremum."""
    function = np.argmax if op.kind.data == Reduction.MAX else np.argmin
    return np.asarray(function(x, axis=op.axis_index, keepdims=True)).astype(np.int64)


def evaluate_cumsum(op: CumsumOp, x: Array) -> Array:
    """Cumulative sums, in the order of the axis or in reverse."""
    axis = op.axis_index
    if op.reverse is not None:
        x = np.flip(x, axis)
    total: Array = np.cumsum(x, axis=axis, dtype=_sum_type(x))
    if op.exclusive is not None:
        shifted = np.zeros_like(total)
        here, before = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        here[axis], before[axis] = slice(1, None), slice(0, -1)
        shifted[tuple(here)] = total[tuple(before)]
        total = shifted
    return np.flip(total, axis) if op.reverse is not None else total
