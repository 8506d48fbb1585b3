"""Pooling: reductions over windows or over all spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import arrays
from ..builder import Builder, window_shape
from ..node import Node
from ..registry import onnx_op
from ..tensors import Array, Tensor, check_size, check_steps, known
from ..wide import in_f32
from .spatial import Window, ceil_padding, window_of


def pooling_window(node: Node, x: Tensor) -> tuple[Window, list[int]]:
    """The window, and the high padding that gives as many positions as `ceil_mode` asks for."""
    window = window_of(node, x.shape[2:], node.ints("kernel_shape"))
    high = ceil_padding(window, x.shape[2:]) if node.int("ceil_mode", 0) else window.high
    return window, high


def _pool(b: Builder, kind: str, x: Tensor, window: Window, high: Sequence[int]) -> Tensor:
    return b.reduce_window(
        kind,
        x,
        [1, 1, *window.sizes],
        [1, 1, *window.strides],
        [1, 1, *window.dilations],
        [0, 0, *window.low],
        [0, 0, *high],
    )


@onnx_op("MaxPool")
def max_pool(node: Node) -> Tensor | Sequence[Tensor]:
    """Maximum of each window; the optional second output is the index of the maximum."""
    x = node[0]
    window, high = pooling_window(node, x)
    result = _pool(node.build, "max", x, window, high)
    if node.wants(1):
        return [result, _max_indices(node.build, x, window, high, column_major=bool(node.int("storage_order", 0)))]
    return result


def _max_indices(b: Builder, x: Tensor, window: Window, high: Sequence[int], column_major: bool) -> Tensor:
    """Flat index in x of each window's first maximum, found over slices of x, one for each position in the window."""
    spatial, rank = x.shape[2:], x.rank - 2
    lowest = float("-inf") if x.is_float else int(np.iinfo(x.dtype).min)
    padded = b.pad(x, [0, 0, *window.low], [0, 0, *high], lowest)
    shape = window_shape(spatial, window.sizes, window.strides, window.dilations, window.low, high)
    check_steps(math.prod(window.sizes), "places of a window with indices")
    positions = list(np.ndindex(*window.sizes))
    slices = [
        b.slice(
            padded,
            [0, 0, *(p * d for p, d in zip(position, window.dilations, strict=True))],
            [*x.shape[:2], *shape],
            [1, 1, *window.strides],
        )
        for position in positions
    ]
    stacked = b.concat([b.reshape(one, [*one.shape, 1]) for one in slices], x.rank)
    best = b.reshape(b.arg_reduce("max", stacked, x.rank), [*x.shape[:2], *shape])
    strides = [math.prod(spatial[axis + 1 :]) for axis in range(rank)]
    if column_major:
        strides = [math.prod(spatial[:axis]) for axis in range(rank)]
    within = [
        sum(p * d * s for p, d, s in zip(position, window.dilations, strides, strict=True)) for position in positions
    ]
    base = arrays.full([*x.shape[:2], *shape], 0, np.int64)
    base += (arrays.arange(x.shape[0] * x.shape[1]) * math.prod(spatial)).reshape(*x.shape[:2], *[1] * rank)
    for axis in range(rank):
        start = (arrays.arange(shape[axis]) * window.strides[axis] - window.low[axis]) * strides[axis]
        base += start.reshape(*[1] * (2 + axis), -1, *[1] * (rank - 1 - axis))
    return b.add(b.gather(known(within, np.int64), best, 0), known(base))


def window_counts(spatial: Sequence[int], window: Window, high: Sequence[int], include_pad: bool) -> Array:
    """Number of elements that each window averages: those in x, or in x with the declared padding."""
    total = np.asarray(1, np.int64)
    shape = window_shape(spatial, window.sizes, window.strides, window.dilations, window.low, high)
    for axis, size in enumerate(spatial):
        low, top = (-window.low[axis], size + window.high[axis]) if include_pad else (0, size)
        starts = arrays.arange(shape[axis]) * window.strides[axis] - window.low[axis]
        at = arrays.outer_sum(starts, arrays.arange(window.sizes[axis]) * window.dilations[axis])
        check_size((*total.shape, shape[axis]), total.dtype)
        total = total[..., None] * ((at >= low) & (at < top)).sum(1)
    return np.maximum(total, 1)


@onnx_op("AveragePool")
@in_f32
def average_pool(node: Node) -> Tensor:
    """Mean of each window, with or without the padding."""
    x, b = node[0], node.build
    window, high = pooling_window(node, x)
    counts = window_counts(x.shape[2:], window, high, bool(node.int("count_include_pad", 0)))
    return average(b, x, window, high, counts)


def average(b: Builder, x: Tensor, window: Window, high: Sequence[int], counts: Array) -> Tensor:
    """Sum of each window times one over its count."""
    total = _pool(b, "sum", x, window, high)
    factors = (1 / counts).astype(x.dtype)
    if factors.size and np.all(factors == factors.flat[0]):
        return b.mul(total, known(factors.reshape(-1)[0]))
    return b.mul(total, known(factors[None, None]))


@onnx_op("LpPool")
@in_f32
def lp_pool(node: Node) -> Tensor:
    """Norm of each window."""
    x, b, p = node[0], node.build, node.int("p", 2)
    window, high = pooling_window(node, x)
    return _root(b, _pool(b, "sum", _power(b, x, p), window, high), p)


@onnx_op("GlobalLpPool")
@in_f32
def global_lp_pool(node: Node) -> Tensor:
    """Norm over all spatial dimensions."""
    x, b, p = node[0], node.build, node.int("p", 2)
    return _root(b, b.reduce("sum", _power(b, x, p), range(2, x.rank)), p)


def _power(b: Builder, x: Tensor, p: int) -> Tensor:
    size = b.unary("abs", x)
    return size if p == 1 else b.mul(x, x) if p == 2 else b.binary("pow", size, p)


def _root(b: Builder, x: Tensor, p: int) -> Tensor:
    return x if p == 1 else b.unary("sqrt", x) if p == 2 else b.binary("pow", x, 1 / p)


@onnx_op("GlobalAveragePool")
@in_f32
def global_average_pool(node: Node) -> Tensor:
    """Mean over all spatial dimensions."""
    x, b = node[0], node.build
    return b.mul(b.reduce("sum", x, range(2, x.rank)), 1 / max(1, math.prod(x.shape[2:])))


@onnx_op("GlobalMaxPool")
def global_max_pool(node: Node) -> Tensor:
    """Maximum over all spatial dimensions."""
    return node.build.reduce("max", node[0], range(2, node[0].rank))
