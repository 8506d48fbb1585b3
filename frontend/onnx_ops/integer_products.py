"""
Exact products of quantised operands, by matrix units that sum in f32.

f32 holds all integers up to 2^24. A product is cut along what it sums over, into parts whose partial sums stay within
that whatever the values are; the parts are added in int32, as ONNX's operators add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import arrays
from ..builder import Builder, window_shape
from ..node import Node
from ..tensors import FLOAT32, Array, Dtype, NodeError, Tensor
from .convolution import Convolution, check_spatial, convolve
from .linear import matmul
from .spatial import Window, window_of

INT32: Dtype = np.dtype(np.int32)

_BYTES: tuple[Dtype, ...] = (np.dtype(np.int8), np.dtype(np.uint8))

EXACT = 1 << 24
"""Largest sum of sizes of terms that f32 adds without rounding, in any order."""

MOST_PARTS = 4096
"""Parts of one product at most: more than this, for wide operands or very deep sums, is not supported."""


@dataclass(frozen=True)
class Centred:
    """Integers minus their zero point, as f32."""

    values: Tensor
    largest: int
    """What none of them exceeds in size."""


def centred(b: Builder, x: Tensor, zero: Tensor | None) -> Centred:
    """x - zero. Raises NodeError for elements that are no integers of 8 bits."""
    for one in (x, zero):
        if one is not None and one.dtype not in _BYTES:
            raise NodeError(f"integer products of {one.dtype} are not supported (of int8 and uint8 they are)")
    wide = b.cast(x, FLOAT32)
    values = wide if zero is None else b.sub(wide, b.cast(zero, FLOAT32))
    if values.array is not None:
        return Centred(values, int(np.abs(values.array).max(initial=0)))
    info = np.iinfo(x.dtype)
    if zero is None:
        return Centred(values, max(-info.min, info.max))
    if zero.array is None:
        return Centred(values, 255)
    zeros = zero.array.astype(np.int64)
    return Centred(values, int(max(np.max(zeros - info.min, initial=0), np.max(info.max - zeros, initial=0))))


def _weights(weights: Centred) -> Array | None:
    """Sizes of known weights."""
    return None if weights.values.array is None else np.abs(weights.values.array.astype(np.int64))


def integer_matmul(b: Builder, x: Centred, y: Centred) -> Tensor:
    """numpy's matmul in int32."""
    left, right = x.values, y.values
    depth = left.shape[-1] if left.rank else 1
    if right.rank and depth != right.shape[max(0, right.rank - 2)]:
        raise NodeError(f"shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied")
    sizes = _weights(y)
    if sizes is None or not depth:
        sizes = arrays.full((1, depth), y.largest, np.int64)
    elif sizes.ndim > 1:
        sizes = np.moveaxis(sizes, -2, -1)
    total: Tensor | None = None
    for (start,), (size,) in _parts(sizes.reshape(-1, depth) * x.largest if depth else sizes):
        one = matmul(
            b,
            b.slice_axis(left, left.rank - 1, start, size),
            b.slice_axis(right, max(0, right.rank - 2), start, size),
        )
        total = _added(b, total, one)
    return b.cast(matmul(b, left, right), INT32) if total is None else total


def integer_conv(node: Node, x: Centred, w: Centred) -> Tensor:
    """The convolution that a node's attributes describe, in int32."""
    b, operand, weights = node.build, x.values, w.values
    check_spatial(operand)
    window = window_of(node, operand.shape[2:], list(weights.shape[2:]))
    groups = node.int("group", 1)
    outputs, depth = weights.shape[:2]
    if operand.shape[1] != depth * groups or outputs % groups:
        raise NodeError(f"{operand.shape[1]} channels do not fit weights {list(weights.shape)} in {groups} groups")
    sizes = _weights(w)
    if sizes is None:
        sizes = arrays.full((1, *weights.shape[1:]), w.largest, np.int64)
    total: Tensor | None = None
    for starts, counts in _parts(sizes * x.largest):
        part = b.slice(weights, [0, *starts], [outputs, *counts])
        channels = _channels(b, operand, groups, starts[0], counts[0])
        total = _added(b, total, convolve(b, Convolution(channels, part, None, _taps(window, starts, counts), groups)))
    if total is None:
        spatial = operand.shape[2:]
        shape = window_shape(spatial, window.sizes, window.strides, window.dilations, window.low, window.high)
        return b.full([operand.shape[0], outputs, *shape], 0, INT32)
    return total


def _added(b: Builder, total: Tensor | None, part: Tensor) -> Tensor:
    part = b.cast(part, INT32)
    return part if total is None else b.add(total, part)


def _channels(b: Builder, x: Tensor, groups: int, start: int, count: int) -> Tensor:
    """`count` channels of each group, from `start` on."""
    each = x.shape[1] // groups
    if count == each:
        return x
    apart = b.reshape(x, [x.shape[0], groups, each, *x.shape[2:]])
    return b.reshape(b.slice_axis(apart, 2, start, count), [x.shape[0], groups * count, *x.shape[2:]])


def _taps(window: Window, starts: tuple[int, ...], counts: tuple[int, ...]) -> Window:
    """The same places, each seen through a part of the window: starts and counts of channels and of each dimension."""
    low, high = list[int](), list[int]()
    for axis, (start, count) in enumerate(zip(starts[1:], counts[1:], strict=True)):
        dilation = window.dilations[axis]
        low.append(window.low[axis] - start * dilation)
        high.append(window.high[axis] - (window.sizes[axis] - start - count) * dilation)
    return Window(list(counts[1:]), window.strides, window.dilations, low, high)


def _parts(sizes: Array) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """
    Boxes (starts, counts) that make up what is summed over, in each of which no sum exceeds `EXACT`.

    sizes [outputs, summed...]: the most that each term of each sum can be. Raises NodeError where there would be too
    many parts.
    """
    shape = sizes.shape[1:]
    parts: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    _cut(sizes, (), shape, parts)
    return parts


def _cut(
    sizes: Array, before: tuple[int, ...], shape: tuple[int, ...], parts: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    """Cut along the first of the dimensions `shape`, within single elements of it along the next; `before` is where."""
    if not shape or not math.prod(shape):
        return
    slabs = sizes.reshape(sizes.shape[0], shape[0], -1).sum(axis=2)
    ones = (1,) * len(before)
    start = 0
    while start < shape[0]:
        sums = np.cumsum(slabs[:, start:], axis=1).max(axis=0, initial=0)
        count = int(np.searchsorted(sums, EXACT, side="right"))
        if count:
            parts.append(((*before, start, *(0,) * (len(shape) - 1)), (*ones, count, *shape[1:])))
        else:
            _cut(sizes[:, start], (*before, start), shape[1:], parts)
        if len(parts) > MOST_PARTS:
            raise NodeError(f"integer products over {math.prod(shape)} elements are not supported")
        start += max(1, count)
