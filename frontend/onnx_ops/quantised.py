"""Quantisation. Integer values are exact; scales are applied in f32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import arrays
from ..builder import Builder
from ..narrow_types import convert
from ..node import Node, numpy_dtype
from ..registry import onnx_op
from ..tensors import FLOAT32, Dtype, NodeError, Tensor, is_float, known
from .convolution import Convolution, convolve
from .linear import matmul
from .spatial import window_of

INT32: Dtype = np.dtype(np.int32)


def _along(b: Builder, x: Tensor, parameter: Tensor, axis: int, block: int) -> Tensor:
    """Scale or zero point, shaped to broadcast over x: one, one per slice of an axis, or one per block of it."""
    if parameter.size == 1:
        return b.reshape(parameter, [])
    axis = x.axis(axis)
    if block:
        if parameter.rank != x.rank:
            raise NodeError("blocked quantisation needs parameters of the operand's rank")
        repeats = np.minimum(arrays.arange(x.shape[axis]) // block, parameter.shape[axis] - 1)
        return b.gather(parameter, known(repeats), axis)
    return b.reshape(parameter, [parameter.size, *[1] * (x.rank - axis - 1)])


def limits(dtype: Dtype) -> tuple[int, int]:
    """Least and largest value of an integer type (4-bit ones included)."""
    info: Any = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def quantise(b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor:
    """round(x / scale) + zero, saturated (x / scale alone, rounded as the type does, for floats of 8 bits)."""
    if is_float(dtype):
        return convert(b, b.div(b.cast(x, FLOAT32), b.cast(scale, FLOAT32)), dtype)
    wide = b.unary("round", b.div(b.cast(x, FLOAT32), b.cast(scale, FLOAT32)))
    if zero is not None:
        wide = b.add(wide, convert(b, zero, FLOAT32))
    low, high = limits(dtype)
    return convert(b, b.minimum(b.maximum(wide, low), high), dtype)


@onnx_op("QuantizeLinear", since=10)
def quantize_linear(node: Node) -> Tensor:
    """Floats to integers of the zero point's type."""
    b, x, zero = node.build, node[0], node.get(2)
    axis, block = node.int("axis", 1), node.int("block_size", 0)
    if zero is not None:
        dtype = zero.dtype
    else:
        dtype = numpy_dtype(node.int("output_dtype")) if node.int("output_dtype", 0) else np.dtype(np.uint8)
    if x.dtype == INT32:
        x = b.cast(x, FLOAT32)
    return quantise(
        b, x, _along(b, x, node[1], axis, block), None if zero is None else _along(b, x, zero, axis, block), dtype
    )


@onnx_op("DequantizeLinear", since=10)
def dequantize_linear(node: Node) -> Tensor:
    """(x - zero) * scale"""
    b, x, scale, zero = node.build, node[0], node[1], node.get(2)
    axis, block = node.int("axis", 1), node.int("block_size", 0)
    wide = convert(b, x, FLOAT32)
    if zero is not None:
        # Differences of integers below 2^24 are exact in f32; only int32 needs integers.
        if x.dtype == INT32:
            wide = b.cast(b.sub(x, _along(b, x, zero, axis, block)), FLOAT32)
        else:
            wide = b.sub(wide, convert(b, _along(b, x, zero, axis, block), FLOAT32))
    result = b.mul(wide, b.cast(_along(b, x, scale, axis, block), FLOAT32))
    dtype = numpy_dtype(node.int("output_dtype")) if node.int("output_dtype", 0) else scale.dtype
    return b.cast(result, dtype)


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(node: Node) -> Sequence[Tensor]:
    """To uint8, with scale and zero point from the range of the values."""
    b, x = node.build, node[0]
    axes = list(range(x.rank))
    low = b.minimum(b.reduce("min", x, axes, keepdims=False), 0)
    high = b.maximum(b.reduce("max", x, axes, keepdims=False), 0)
    scale = b.div(b.sub(high, low), 255)
    # A tensor of zeros has scale 0; any other keeps 0 / 0 away.
    safe = b.select(b.compare("eq", scale, 0), 1, scale)
    exact = b.unary("round", b.minimum(b.maximum(b.div(b.unary("neg", low), safe), 0), 255))
    zero = b.cast(exact, np.dtype(np.uint8))
    return [quantise(b, x, safe, zero, np.dtype(np.uint8)), scale, zero]


def _centred(b: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero as f32, which holds differences of bytes and the sums of their products up to 2^24 exactly."""
    wide = b.cast(x, FLOAT32)
    return wide if zero is None else b.sub(wide, b.cast(zero, FLOAT32))


def _exact_depth(depth: int) -> None:
    """Products of centred bytes are below 2^16 in size: sums of 256 of them are certainly exact in f32."""
    if depth > 1 << 16:
        raise NodeError(f"integer products over {depth} elements are not supported")


def _int_matmul(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """Matrix product of centred f32 integers, exact: cut along k so that every partial sum stays below 2^24."""
    depth, step = x.shape[-1], 256
    _exact_depth(depth)
    total: Tensor | None = None
    for start in range(0, depth, step):
        size = min(step, depth - start)
        left = b.slice_axis(x, x.rank - 1, start, size)
        right = b.slice_axis(y, max(0, y.rank - 2), start, size)
        part = b.cast(matmul(b, left, right), INT32)
        total = part if total is None else b.add(total, part)
    assert total is not None
    return total


def _row_zero(b: Builder, zero: Tensor | None, rows: bool) -> Tensor | None:
    """A zero point per row (of A) or per column (of B), shaped to broadcast."""
    if zero is None or zero.size == 1:
        return None if zero is None else b.reshape(zero, [])
    if zero.rank == 1:
        return b.reshape(zero, [zero.size, 1] if rows else [1, zero.size])
    return zero


@onnx_op("MatMulInteger", since=10)
def matmul_integer(node: Node) -> Tensor:
    """(A - a) (B - b) in int32."""
    b = node.build
    return _int_matmul(
        b,
        _centred(b, node[0], _row_zero(b, node.get(2), True)),
        _centred(b, node[1], _row_zero(b, node.get(3), False)),
    )


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(node: Node) -> Tensor:
    """The product of two quantised matrices, quantised."""
    b = node.build
    x = _centred(b, node[0], _row_zero(b, node[2], True))
    y = _centred(b, node[3], _row_zero(b, node[5], False))
    scale_x, scale_y = _row_zero(b, node[1], True), _row_zero(b, node[4], False)
    assert scale_x is not None
    assert scale_y is not None
    exact = b.cast(_int_matmul(b, x, y), FLOAT32)
    scaled = b.mul(exact, b.mul(b.cast(scale_x, FLOAT32), b.cast(scale_y, FLOAT32)))
    return quantise(b, scaled, b.reshape(node[6], []), b.reshape(node[7], []), node[7].dtype)


def _int_conv(node: Node, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
    """Convolution of centred f32 integers in int32."""
    b = node.build
    _exact_depth(int(np.prod(w.shape[1:])))
    window = window_of(node, x.shape[2:], list(w.shape[2:]))
    result = b.cast(convolve(b, Convolution(x, w, None, window, node.int("group", 1))), INT32)
    return result if bias is None else b.add(result, b.reshape(bias, [1, bias.size, *[1] * (x.rank - 2)]))


def _channel(b: Builder, parameter: Tensor | None, rank: int, axis: int) -> Tensor | None:
    if parameter is None or parameter.size == 1:
        return None if parameter is None else b.reshape(parameter, [])
    return b.reshape(parameter, [*[1] * axis, parameter.size, *[1] * (rank - axis - 1)])


@onnx_op("ConvInteger", since=10)
def conv_integer(node: Node) -> Tensor:
    """Convolution of integers minus their zero points, in int32."""
    b, x, w = node.build, node[0], node[1]
    return _int_conv(
        node,
        _centred(b, x, _channel(b, node.get(2), x.rank, 1)),
        _centred(b, w, _channel(b, node.get(3), w.rank, 0)),
        None,
    )


@onnx_op("QLinearConv", since=10)
def qlinear_conv(node: Node) -> Tensor:
    """Convolution of quantised values, quantised."""
    b, x, w = node.build, node[0], node[3]
    exact = _int_conv(
        node,
        _centred(b, x, _channel(b, node[2], x.rank, 1)),
        _centred(b, w, _channel(b, node[5], w.rank, 0)),
        node.get(8),
    )
    scale_x, scale_w = b.reshape(node[1], []), _channel(b, node[4], x.rank, 1)
    assert scale_w is not None
    scaled = b.mul(b.cast(exact, FLOAT32), b.mul(scale_x, scale_w))
    return quantise(b, scaled, b.reshape(node[6], []), b.reshape(node[7], []), node[7].dtype)
