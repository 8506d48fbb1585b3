"""Deformable convolution: each element of the window has an offset."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays
from ..builder import Builder, window_shape
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, NodeError, Tensor, known
from ..wide import in_f32
from .bilinear import corners
from .convolution import Convolution, convolve
from .spatial import Window, window_of


@onnx_op("DeformConv", since=19)
@in_f32
def deformable_convolution(node: Node) -> Tensor:
    """Convolution over two spatial dimensions in which each element of the window has an offset and a mask factor."""
    b, x, w, offset, mask = node.build, node[0], node[1], node[2], node.get(4)
    if x.rank != 4:
        raise NodeError(f"{x.rank - 2} spatial dimensions are not supported (2 are)")
    window = window_of(node, x.shape[2:], list(w.shape[2:]))
    shape = window_shape(x.shape[2:], window.sizes, window.strides, window.dilations, window.low, window.high)
    moved, taps = node.int("offset_group", 1), math.prod(window.sizes)
    batch, channels = x.shape[:2]
    if moved < 1 or channels % moved or offset.shape != (batch, moved * taps * 2, *shape):
        raise NodeError(f"offsets of shape {list(offset.shape)} do not fit {moved} groups of {channels} channels")
    # Groups of channels with the same offsets become images; the window's taps become channels.
    images = b.reshape(x, [batch * moved, channels // moved, *x.shape[2:]])
    amounts = b.reshape(offset, [batch * moved, taps, 2, *shape])
    count = batch * moved * taps * math.prod(shape)
    positions = [
        b.reshape(b.add(b.slice_axis(amounts, 2, axis, 1), _unmoved(window, axis, shape, x)), [count])
        for axis in range(2)
    ]
    numbers = known(arrays.arange(batch * moved).reshape(-1, 1))
    image = b.reshape(b.broadcast(numbers, [batch * moved, count // (batch * moved)]), [count])
    values = _interpolated(b, images, image, positions)
    values = b.reshape(values, [batch * moved, taps, *shape, channels // moved])
    if mask is not None:
        values = b.mul(values, b.reshape(mask, [batch * moved, taps, *shape, 1]))
    columns = b.reshape(b.transpose(values, [0, 4, 1, 2, 3]), [batch, channels * taps, *shape])
    weights = b.reshape(w, [w.shape[0], w.shape[1] * taps, 1, 1])
    once = Window([1, 1], [1, 1], [1, 1], [0, 0], [0, 0])
    return convolve(b, Convolution(columns, weights, node.get(3), once, node.int("group", 1)))


def _unmoved(window: Window, axis: int, shape: tuple[int, ...], x: Tensor) -> Tensor:
    """Positions of the window's elements along an axis without offsets, broadcasting to [1, taps, 1, H, W]."""
    starts = arrays.arange(shape[axis]) * window.strides[axis] - window.low[axis]
    within = np.indices(window.sizes)[axis].reshape(1, -1, 1, 1, 1) * window.dilations[axis]
    positions = within + starts.reshape((1, 1, 1, -1, 1) if axis == 0 else (1, 1, 1, 1, -1))
    return known(positions.astype(x.dtype))


def _interpolated(b: Builder, images: Tensor, image: Tensor, positions: list[Tensor]) -> Tensor:
    """Values [P, C] of images at positions; 0 outside."""
    assert image.dtype == INT64
    first, *others = (b.mul(one.value, one.weight) for one in corners(b, images, image, positions[0], positions[1]))
    for other in others:
        first = b.add(first, other)
    return first
