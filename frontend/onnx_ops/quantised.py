"""Quantisation and quantised operators. Integer values are exact; scales are applied in f32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .. import arrays
from ..builder import Builder
from ..finite_values import Clamp, Line, factor_for, function_of_source
from ..narrow_types import convert
from ..node import Node, numpy_dtype
from ..quantised import BYTES, same_steps, unsigned
from ..registry import onnx_op
from ..tensors import FLOAT32, HELD_IN, Dtype, NodeError, Tensor, broadcast, is_float, known
from .integer_products import INT32, centred, integer_conv, integer_matmul


def _along(b: Builder, x: Tensor, parameter: Tensor, axis: int, block: int) -> Tensor:
    """Scale or zero point, shaped to broadcast over x: one, one per slice along an axis, or one per block of slices."""
    if parameter.size == 1:
        return b.reshape(parameter, [])
    axis = x.axis(axis)
    if block:
        if parameter.rank != x.rank:
            raise NodeError("blocked quantisation needs parameters of the operand's rank")
        repeats = np.minimum(arrays.arange(x.shape[axis]) // block, parameter.shape[axis] - 1)
        return b.gather(parameter, known(repeats), axis)
    if parameter.size != x.shape[axis]:
        raise NodeError(
            f"a scale or zero point has shape {list(parameter.shape)}, expected 1 element or {x.shape[axis]}, the size "
            f"of axis {axis}"
        )
    return b.reshape(parameter, [parameter.size, *[1] * (x.rank - axis - 1)])


def limits(dtype: Dtype) -> tuple[int, int]:
    """Least and largest value of an integer type (4-bit ones included)."""
    info: Any = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def quantise(b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor:
    """round(x / scale) + zero, saturated; for 8-bit floats, x / scale rounded to the type."""
    if (found := of_integers(b, x, scale, zero, dtype)) is not None:
        return found
    return rounded(b, b.div(b.cast(x, FLOAT32), b.cast(scale, FLOAT32)), zero, dtype)


def of_integers(b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor | None:
    """
    `quantise` on the integers of dequantised values: sums are rounded once; values that already have the scale and zero
    point are not rounded. None for other operands.
    """
    at = zero_of_int8(zero, dtype)
    if at is None:
        return None
    if x.parts is not None and scale.size == 1:
        axis, parts = x.parts
        made = [quantise(b, part, scale, zero, dtype) for part in parts]
        return b.concat(made, axis)
    if x.quantised is not None and same_steps(x.quantised, scale, at):
        return _of_type(b, x.quantised.values, dtype)
    if (found := _of_finite(b, x, scale, at, dtype)) is not None:
        return found
    if x.sums is None:
        return _with_other_steps(b, x, scale, at, dtype)
    factor = b.div(x.sums.scale, b.cast(scale, FLOAT32))
    if broadcast(x.sums.exact.shape, factor.shape) != x.shape:
        return None
    return _of_type(b, b.quantize(x.sums.exact, factor, at), dtype)


def _of_finite(b: Builder, x: Tensor, scale: Tensor, zero: int, dtype: Dtype) -> Tensor | None:
    """Floats with few values, quantised with the same results by fewer operations; None for others."""
    if x.finite is None or x.dtype != FLOAT32 or scale.array is None or scale.dtype != FLOAT32 or scale.size != 1:
        return None
    step = np.float32(scale.array.reshape(()))
    if not 0 < step < np.inf or not np.isfinite(x.finite.values).all():
        return None
    cheap, source = function_of_source(x.finite, step, zero), x.finite.source
    if source is not None and isinstance(cheap, Clamp):
        above = source if cheap.low == -128 else b.maximum(source, cheap.low)
        return _of_type(b, above if cheap.high == 127 else b.minimum(above, cheap.high), dtype)
    if source is not None and isinstance(cheap, Line):
        moved = _moved(b, source, cheap.offset)
        return _of_type(b, b.quantize(moved, known(cheap.factor), cheap.zero), dtype)
    factor = factor_for(x.finite, step, zero)
    return None if factor is None else _of_type(b, b.quantize(x, factor, zero), dtype)


def _moved(b: Builder, source: Tensor, offset: np.float32) -> Tensor:
    """int8 values plus an offset, in f32."""
    made = source.quantised_from
    if made is not None and offset == 128:  # as uint8, they need no addition
        return b.cast(b.quantize(made[0], made[1], made[2] + 128, np.dtype(np.uint8)), FLOAT32)
    wide = b.cast(source, FLOAT32)
    return b.add(wide, known(offset)) if offset else wide


def _with_other_steps(b: Builder, x: Tensor, scale: Tensor, zero: int, dtype: Dtype) -> Tensor | None:
    """Dequantised values with a known scalar scale and zero point, requantised; None for other operands."""
    found = x.quantised
    if found is None or found.scale is None or found.scale.size > 1 or scale.size > 1:
        return None
    if found.scale.array is None or scale.array is None or (found.zero is not None and found.zero.size > 1):
        return None
    made = found.values.quantised_from
    if made is not None and found.zero is not None and found.zero.array is not None and found.zero.array == -128:
        # As uint8, they need no subtraction of a zero point.
        steps = b.cast(b.quantize(made[0], made[1], made[2] + 128, np.dtype(np.uint8)), INT32)
    else:
        steps = b.cast(found.values, INT32)
        if found.zero is not None:
            steps = b.sub(steps, b.reshape(found.zero, []))
    factor = known(found.scale.array.reshape(()) / scale.array.reshape(()))
    return _of_type(b, b.quantize(steps, factor, zero), dtype)


def zero_of_int8(zero: Tensor | None, dtype: Dtype) -> int | None:
    """The known scalar zero point of 8-bit quantised values, adjusted for `signed`; None for other operands."""
    if dtype not in BYTES or (zero is not None and (zero.array is None or zero.size == 0)):
        return None
    shift = 0 if dtype == np.int8 else 128
    if zero is None or zero.array is None:
        return -shift
    values = zero.array.reshape(-1)
    return int(values[0]) - shift if np.all(values == values[0]) else None


def _of_type(b: Builder, x: Tensor, dtype: Dtype) -> Tensor:
    return x if dtype == np.int8 else unsigned(b, x)


def requantised(b: Builder, exact: Tensor, factor: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor:
    """round(exact * factor) + zero, saturated, of sums in int32; the product is rounded in f32."""
    at = zero_of_int8(zero, dtype)
    if at is not None:
        return _of_type(b, b.quantize(exact, factor, at), dtype)
    return rounded(b, b.mul(b.cast(exact, FLOAT32), factor), zero, dtype)


def rounded(b: Builder, scaled: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor:
    """round(scaled) + zero, saturated."""
    if is_float(dtype):
        return convert(b, scaled, dtype)
    at, one = zero_of_int8(zero, dtype), known(1, FLOAT32)
    if at is not None and scaled.dtype == FLOAT32:
        return _of_type(b, b.quantize(scaled, one, at), dtype)
    wide = b.unary("round", scaled)
    if zero is not None and dtype in BYTES and scaled.dtype == FLOAT32:
        moved = b.add(wide, b.sub(convert(b, zero, FLOAT32), 0 if dtype == np.int8 else 128))
        return _of_type(b, b.quantize(moved, one, 0), dtype)
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
    if x.array is not None and x.dtype in HELD_IN and not is_float(x.dtype):
        x = known(x.array.astype(HELD_IN[x.dtype]), name=x.name)  # narrower integers are held in 8 bits
    wide = difference(b, x, None if zero is None else _along(b, x, zero, axis, block))
    result = b.mul(wide, b.cast(_along(b, x, scale, axis, block), FLOAT32))
    dtype = numpy_dtype(node.int("output_dtype")) if node.int("output_dtype", 0) else scale.dtype
    return b.cast(result, dtype)


def difference(b: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero in f32, which is exact: integers of less than 32 bits, or of 32, whose difference is rounded."""
    if x.dtype == INT32:
        return b.cast(x if zero is None else b.sub(x, zero), FLOAT32)
    offset = None if zero is None else convert(b, zero, FLOAT32)
    if x.dtype == np.uint8 and x.signed is not None and x.array is None:
        x, offset = x.signed, b.sub(known(0, FLOAT32) if offset is None else offset, 128)
    wide = convert(b, x, FLOAT32)
    return wide if offset is None or _all_zero(offset) else b.sub(wide, offset)


def _all_zero(x: Tensor) -> bool:
    return x.array is not None and x.size > 0 and x.rank == 0 and not x.array.any()


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(node: Node) -> Sequence[Tensor]:
    """To uint8, with scale and zero point from the range of the values."""
    return dynamically_quantised(node.build, node[0])


def dynamically_quantised(b: Builder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x as uint8, the scale and the zero point, such that the range of uint8 includes 0 and all values of x."""
    axes = list(range(x.rank))
    low = b.minimum(b.reduce("min", x, axes, keepdims=False), 0)
    high = b.maximum(b.reduce("max", x, axes, keepdims=False), 0)
    scale = b.div(b.sub(high, low), 255)
    # By the formula, a tensor of zeros, or an empty one, has scale 0; it is replaced by 1 to avoid a division by 0.
    scale = b.select(b.compare("eq", scale, 0), 1, scale)
    exact = b.unary("round", b.minimum(b.maximum(b.div(b.unary("neg", low), scale), 0), 255))
    zero = b.cast(exact, np.dtype(np.uint8))
    return quantise(b, x, scale, zero, zero.dtype), scale, zero


def _requantise(b: Builder, exact: Tensor, scales: tuple[Tensor, Tensor], scale: Tensor, zero: Tensor) -> Tensor:
    """
    Sums of products of quantised values (int32), requantised with the scale and type of the result.

    They are multiplied by a single factor, as in ONNX Runtime: if the exact result is halfway between two integers, the
    last bit of the product decides the rounding, and so the rounding is the same.
    """
    factor = b.div(b.mul(*(b.cast(one, FLOAT32) for one in scales)), b.cast(b.reshape(scale, []), FLOAT32))
    return requantised(b, exact, factor, b.reshape(zero, []), zero.dtype)


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
    return integer_matmul(
        b,
        centred(b, node[0], _row_zero(b, node.get(2), True)),
        centred(b, node[1], _row_zero(b, node.get(3), False)),
    )


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(node: Node) -> Tensor:
    """The product of two quantised matrices, quantised."""
    b = node.build
    x = centred(b, node[0], _row_zero(b, node[2], True))
    y = centred(b, node[3], _row_zero(b, node[5], False))
    scale_x, scale_y = _row_zero(b, node[1], True), _row_zero(b, node[4], False)
    assert scale_x is not None
    assert scale_y is not None
    return _requantise(b, integer_matmul(b, x, y), (scale_x, scale_y), node[6], node[7])


def _channel(b: Builder, parameter: Tensor | None, rank: int, axis: int) -> Tensor | None:
    if parameter is None or parameter.size == 1:
        return None if parameter is None else b.reshape(parameter, [])
    return b.reshape(parameter, [*[1] * axis, parameter.size, *[1] * (rank - axis - 1)])


@onnx_op("ConvInteger", since=10)
def conv_integer(node: Node) -> Tensor:
    """Convolution of integers minus their zero points, in int32."""
    b, x, w = node.build, node[0], node[1]
    return integer_conv(
        node,
        centred(b, x, _channel(b, node.get(2), x.rank, 1)),
        centred(b, w, _channel(b, node.get(3), w.rank, 0)),
    )


@onnx_op("QLinearConv", since=10)
def qlinear_conv(node: Node) -> Tensor:
    """Convolution of quantised values, quantised."""
    b, x, w = node.build, node[0], node[3]
    exact = integer_conv(
        node, centred(b, x, _channel(b, node[2], x.rank, 1)), centred(b, w, _channel(b, node[5], w.rank, 0))
    )
    if (bias := node.get(8)) is not None:
        exact = b.add(exact, b.reshape(bias, [1, bias.size, *[1] * (x.rank - 2)]))
    scale_x, scale_w = b.reshape(node[1], []), _channel(b, node[4], x.rank, 1)
    assert scale_w is not None
    return _requantise(b, exact, (scale_x, scale_w), node[6], node[7])
