"""
Matrix products and convolutions of quantised operands: 8-bit integers are multiplied without conversion and summed in
i32.

The product of (a - zero_a) and (b - zero_b) is the product of a and b, minus zero_a times the sums of b, minus zero_b
times the sums of (a - zero_a). The sums of weights are known at import, so only the zero points of weights have a cost
at run time. All results are exact modulo 2^32, as those of ONNX's operators are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .quantised import BYTES, signed
from .tensors import Dtype, NodeError, Tensor, known

if TYPE_CHECKING:
    from .builder import Builder
    from .sliding_window import Window

INT8: Dtype = np.dtype(np.int8)
INT32: Dtype = np.dtype(np.int32)


@dataclass(frozen=True)
class Centred:
    """Quantised integers and the zero point that is to be subtracted from them."""

    values: Tensor
    """int8"""
    zero: Tensor | None
    """int32, within the range of int8, broadcasting to the values; None: 0."""


def centred(b: Builder, x: Tensor, zero: Tensor | None) -> Centred:
    """x - zero. Raises NodeError for elements that are not 8-bit integers."""
    for one in (x, zero):
        if one is not None and one.dtype not in BYTES:
            raise NodeError(f"integer products of {one.dtype} are not supported: expected int8 or uint8")
    shift = 0 if x.dtype == INT8 else 128
    whole = b.sub(known(0, INT32) if zero is None else b.cast(zero, INT32), shift)
    values = signed(b, x)
    if whole.array is not None:
        if not whole.array.any():
            return Centred(values, None)
        if values.array is not None:
            exact = values.array.astype(np.int32) - whole.array
            if -128 <= exact.min(initial=0) and exact.max(initial=0) <= 127:
                return Centred(known(exact.astype(np.int8), name=values.name), None)
    return Centred(values, whole)


def integer_matmul(b: Builder, x: Centred, y: Centred) -> Tensor:
    """numpy's matmul in int32."""
    left, right = x.values, y.values
    if left.rank == 0 or right.rank == 0:
        raise NodeError("scalars cannot be multiplied as matrices")
    left = b.reshape(left, [1, left.size]) if left.rank == 1 else left
    right = b.reshape(right, [right.size, 1]) if right.rank == 1 else right
    depth = left.shape[-1]
    if depth != right.shape[-2]:
        raise NodeError(f"shapes {list(x.values.shape)} and {list(y.values.shape)} cannot be multiplied")
    total = _product(b, left, right)
    if depth and x.zero is not None:
        sums = _sums(b, right, right.rank - 2)
        if y.zero is not None:
            sums = b.sub(sums, b.mul(_as_matrix(b, y.zero, y.values.rank, False), depth))
        total = b.sub(total, b.mul(_as_matrix(b, x.zero, x.values.rank, True), sums))
    if depth and y.zero is not None:
        total = b.sub(total, b.mul(_sums(b, left, left.rank - 1), _as_matrix(b, y.zero, y.values.rank, False)))
    shape = list(total.shape)
    if y.values.rank == 1:
        del shape[-1]
    if x.values.rank == 1:
        del shape[-1 if y.values.rank == 1 else -2]
    return b.reshape(total, shape)


def _product(b: Builder, left: Tensor, right: Tensor) -> Tensor:
    if left.rank == 2 or right.rank > 2:
        return b.matmul(left, right)
    # The leading dimensions are merged with the rows: the matrix unit computes one large product more efficiently than
    # many small ones.
    tall = b.reshape(left, [math.prod(left.shape[:-1]), left.shape[-1]])
    return b.reshape(b.matmul(tall, right), [*left.shape[:-1], right.shape[-1]])


def _as_matrix(b: Builder, zero: Tensor, rank: int, rows: bool) -> Tensor:
    """The zero point of a vector operand, shaped for the matrix that replaces it."""
    return b.reshape(zero, [zero.size, 1] if rows else [1, zero.size]) if rank == 1 and zero.size > 1 else zero


def _sums(b: Builder, x: Tensor, axis: int) -> Tensor:
    """int32 sums along an axis, which is kept with size 1; computed values are summed by the matrix unit."""
    if x.array is not None:
        return known(x.array.sum(axis=axis, keepdims=True, dtype=np.int32))
    ones = known(np.ones((x.shape[axis], 1), np.int8))
    return _product(b, x, ones) if axis == x.rank - 1 else b.matmul(b.reshape(ones, [1, x.shape[axis]]), x)


def integer_conv(b: Builder, x: Centred, w: Centred, window: Window, groups: int) -> Tensor:
    """Convolution in int32. Raises NodeError if the numbers of channels do not match."""
    outputs, depth = w.values.shape[:2]
    if x.values.shape[1] != depth * groups or outputs % groups:
        raise NodeError(f"{x.values.shape[1]} channels do not fit weights {list(w.values.shape)} in {groups} groups")
    values, zero, outside = x.values, x.zero, 0
    if zero is not None and zero.size == 1 and zero.array is not None:
        outside = int(zero.array.reshape(-1)[0])
    elif zero is not None and any((*window.low, *window.high)):
        values, window = _padded(b, x, zero, window)
    total = _less_weight_zeros(b, values, w, window, groups, outside)
    if zero is None:
        return total
    if zero.size == 1:
        return b.sub(total, b.mul(_sums_of_outputs(b, w, len(window.sizes)), b.reshape(zero, [])))
    image = b.broadcast(_of_channels(b, zero, values.rank), [1, *values.shape[1:]])
    return b.sub(total, _less_weight_zeros(b, image, w, window, groups, 0))


def _padded(b: Builder, x: Centred, zero: Tensor, window: Window) -> tuple[Tensor, Window]:
    """The values with padding by a zero point that is known at run time only, and the window without padding."""
    low, high = [0, 0, *window.low], [0, 0, *window.high]
    wide = b.pad(x.values, low, high)
    inside = np.zeros((1, 1, *wide.shape[2:]), np.bool_)
    inside[(..., *(slice(at, at + n) for at, n in zip(window.low, x.values.shape[2:], strict=True)))] = True
    none = [0] * len(window.sizes)
    return b.select(known(inside), wide, _of_channels(b, zero, wide.rank)), replace(window, low=none, high=none)


def _of_channels(b: Builder, zero: Tensor, rank: int) -> Tensor:
    """Zero points as int8, one or one for each channel, shaped to broadcast over an image."""
    return b.cast(b.reshape(zero, [1, zero.size, *[1] * (rank - 2)]), INT8)


def _sums_of_outputs(b: Builder, w: Centred, dimensions: int) -> Tensor:
    """int32 sums of each output channel's weights less their zero points, [1, O, 1...]."""
    sums = _kernel_sums(b, w.values)
    if w.zero is not None:
        sums = b.sub(sums, b.mul(_of_outputs(b, w.zero), math.prod(w.values.shape[1:])))
    return b.reshape(sums, [1, w.values.shape[0], *[1] * dimensions])


def _less_weight_zeros(b: Builder, x: Tensor, w: Centred, window: Window, groups: int, outside: int) -> Tensor:
    """The convolution of x with w - zero."""
    total = b.conv(x, w.values, window, groups, outside)
    if w.zero is None:
        return total
    outputs, shape = w.values.shape[0], total.shape
    ones = known(np.ones((groups, *w.values.shape[1:]), np.int8))
    sums = b.conv(x, ones, window, groups, outside)
    apart = b.reshape(sums, [shape[0], groups, 1, *shape[2:]])
    zero = w.zero if w.zero.size == 1 else b.broadcast(w.zero, [outputs, *[1] * (w.values.rank - 1)])
    if zero.size == 1:
        spread = b.broadcast(apart, [shape[0], groups, outputs // groups, *shape[2:]])
        return b.sub(total, b.mul(b.reshape(spread, shape), b.reshape(zero, [])))
    taken = b.mul(apart, b.reshape(zero, [1, groups, outputs // groups, *[1] * (len(shape) - 2)]))
    return b.sub(total, b.reshape(taken, shape))


def _kernel_sums(b: Builder, w: Tensor) -> Tensor:
    """int32 sums of each output channel's weights, [O]."""
    flat = b.reshape(w, [w.shape[0], math.prod(w.shape[1:])])
    return b.reshape(_sums(b, flat, 1), [w.shape[0]])


def _of_outputs(b: Builder, zero: Tensor) -> Tensor:
    return b.reshape(zero, [zero.size])


def fits_in_sums(shape: Sequence[int]) -> bool:
    """Whether any sum of products of 8-bit integers over dimensions of these sizes fits in i32."""
    return math.prod(shape) * 255 * 255 < 1 << 31
