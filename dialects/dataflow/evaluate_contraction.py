"""Reference semantics of contractions, in numpy: sums in f32 (f64 for f64), in i32 for narrow integers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...formats.pairs import unpack_pairs
from .base import ints
from .constants import Array
from .contraction import Contraction, ConvOp, MatmulOp, narrow_pairs
from .partial import PartialOp
from .partial_conv import PartialConvOp
from .partial_matmul import PartialMatmulOp


def unpacked(op: Contraction | PartialOp, operands: list[Array]) -> list[Array]:
    """The operands, with pairs of 4-bit integers unpacked to integers."""
    narrow = narrow_pairs(op)
    if narrow is None:
        return operands
    axis, size = op.inner_axis(narrow), op.operand_shape(1 - narrow)[op.inner_axis(1 - narrow)]
    if isinstance(op, ConvOp):
        size = op.group_channels
    return [unpack_pairs(one, axis, size) if index == narrow else one for index, one in enumerate(operands)]


def multiply(a: Array, b: Array) -> Array:
    """The matrix product of two arrays, with sums as wide as the machine computes them."""
    if "f" in (a.dtype.kind, b.dtype.kind) and a.dtype != b.dtype:  # integers are widened to floats
        wide = np.result_type(*(one.dtype for one in (a, b) if one.dtype.kind == "f"))
        a, b = a.astype(wide, copy=False), b.astype(wide, copy=False)
    kind, size = a.dtype.kind, a.dtype.itemsize
    if kind == "f":
        wide = np.float64 if size == 8 else np.float32
        return np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False))
    if size == 1 or (size == 2 and a.shape[-1] < 1 << 20):
        # Exact: sums of at most 2**20 products below 2**32 stay below 2**53, up to which doubles are exact for
        # integers.
        product = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return product.astype(np.int64).astype(np.int32)
    if size == 2:
        return np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(np.int32)
    return np.matmul(a, b)


def evaluate_partial_matmul(op: PartialMatmulOp, a: Array, b: Array) -> Array:
    """The product of each range along K, stacked along a new first dimension."""
    parts = zip(
        *(np.split(one, op.part_count, axis=op.inner_axis(index)) for index, one in enumerate((a, b))), strict=True
    )
    return np.stack([evaluate_matmul(op, *pair) for pair in parts])


def evaluate_matmul(op: MatmulOp | PartialMatmulOp, a: Array, b: Array) -> Array:
    """The product [..., M, N]; batch dimensions broadcast."""
    if op.transpose_a is not None:
        a = np.swapaxes(a, -1, -2)
    if op.transpose_b is not None:
        b = np.swapaxes(b, -1, -2)
    return multiply(a, b)


def window_views(x: Array, window: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> Array:
    """
    All windows over the trailing dimensions of a padded operand, without a copy: [leading..., out..., window...].
    """
    spatial = len(window)
    lead = x.ndim - spatial
    sizes = x.shape[lead:]
    steps = x.strides[lead:]
    out = tuple((n - ((w - 1) * d + 1)) // s + 1 for n, w, s, d in zip(sizes, window, strides, dilations, strict=True))
    shape = (*out, *window)
    apart = [step * by for step, by in zip((*steps, *steps), (*strides, *dilations), strict=True)]
    # The stride of a dimension of size 1 is arbitrary.
    apart = [distance if size > 1 else 0 for distance, size in zip(apart, shape, strict=True)]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:lead], *shape),
        (*x.strides[:lead], *apart),
        writeable=False,
    )


def evaluate_conv(op: ConvOp, x: Array, w: Array) -> Array:
    """Convolution by im2col and a batched matrix product; channel by channel if each group has one channel."""
    return _convolve(op, op.group_count, x, w)


def evaluate_partial_conv(op: PartialConvOp, x: Array, w: Array) -> Array:
    """The convolution of each part of the input channels, stacked along the first dimension."""
    parts = zip(np.split(x, op.part_count, axis=1), np.split(w, op.part_count, axis=1), strict=True)
    return np.concatenate([_convolve(op, 1, x_part, w_part) for x_part, w_part in parts])


def _convolve(op: ConvOp | PartialConvOp, groups: int, x: Array, w: Array) -> Array:
    spatial = op.spatial
    pads = zip(ints(op.pad_low), ints(op.pad_high), strict=True)
    value = op.padding if isinstance(op, ConvOp) else 0
    padded = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=value)
    kernel = w.shape[2:]
    windows = window_views(padded, kernel, ints(op.strides), ints(op.dilations))
    n, channels = x.shape[:2]
    out = windows.shape[2 : 2 + spatial]
    outputs = w.shape[0]
    if groups == channels == outputs and x.dtype.kind == "f":
        return _depthwise(windows, w, spatial)
    # [N, C, out..., K...] -> [N, groups, C / groups * K..., out...]
    order = (0, 1, *range(2 + spatial, 2 + 2 * spatial), *range(2, 2 + spatial))
    rows = channels // groups * math.prod(kernel)
    columns = windows.transpose(order).reshape(n, groups, rows, math.prod(out))
    weights = w.reshape(1, groups, outputs // groups, rows)
    return multiply(weights, columns).reshape(n, outputs, *out)


def _depthwise(windows: Array, w: Array, spatial: int) -> Array:
    """Depthwise convolution: one multiply-add over all positions for each element of the kernel."""
    wide = np.float64 if w.dtype.itemsize == 8 else np.float32
    total = np.zeros(windows.shape[: 2 + spatial], wide)
    for position in itertools.product(*map(range, w.shape[2:])):
        factor = w[(slice(None), 0, *position)].astype(wide).reshape(1, -1, *(1,) * spatial)
        total += windows[(..., *position)].astype(wide, copy=False) * factor
    return total
