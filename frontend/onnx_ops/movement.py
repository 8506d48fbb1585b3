"""Data movement: transposition, slices, concatenation, repetition, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, Array, NodeError, Tensor, check_steps, known

LONGEST_PADDING = 1 << 24
"""The largest number of elements by which an axis is padded with its own elements."""

_TO_THE_END = (2**31 - 1, 2**63 - 1)
"""Ends of a slice that mean the end of the axis in both directions: by opset 10, and by ONNX Runtime in all opsets."""


@onnx_op("Transpose")
def transpose(node: Node) -> Tensor:
    """Dimensions in another order, reversed by default."""
    x = node[0]
    return node.build.transpose(x, node.ints("perm", list(range(x.rank))[::-1]))


@onnx_op("Concat")
def concat(node: Node) -> Tensor:
    """Concatenation along an axis."""
    tensors = node.all()
    # Shape arithmetic concatenates known values only; a concatenation with a computed value is data.
    return node.build.concat(tensors, tensors[0].axis(node.int("axis", 1)))


@onnx_op("Slice")
def slice_1(node: Node) -> Tensor:
    """Slices of axes; the bounds are attributes."""
    starts, ends = node.ints("starts"), node.ints("ends")
    return slice_by(node.build, node[0], starts, ends, node.ints("axes", range(len(starts))), [1] * len(starts))


@onnx_op("Slice", since=10)
def slice_10(node: Node) -> Tensor:
    """Slices of axes; the bounds are operands that are known at import."""
    starts, ends = node.ints_of(1, "starts"), node.ints_of(2, "ends")
    axes = list(range(len(starts))) if node.get(3) is None else node.ints_of(3, "axes")
    steps = [1] * len(starts) if node.get(4) is None else node.ints_of(4, "steps")
    return slice_by(node.build, node[0], starts, ends, axes, steps)


def slice_by(
    b: Builder, x: Tensor, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> Tensor:
    """The slice of x from starts[i] to ends[i] in steps of steps[i] along each axis axes[i]."""
    first, sizes, strides = [0] * x.rank, list(x.shape), [1] * x.rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = x.axis(axis)
        if step == 0:
            raise NodeError("a step of a slice is 0")
        picks = slice_range(x.shape[at], start, end, step)
        first[at], sizes[at], strides[at] = (picks.start if picks else 0), len(picks), step
    return b.slice(x, first, sizes, strides)


def slice_range(size: int, start: int, end: int, step: int) -> range:
    """
    The range of elements that a slice reads along an axis. Negative bounds count from the end; bounds are then clamped.
    Unlike in Python, a backward slice that starts before the first element starts at the first.
    """
    end = -size - 1 if step < 0 and end in _TO_THE_END else end
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


@onnx_op("Split")
def split(node: Node) -> Sequence[Tensor]:
    """Parts along an axis, of given sizes or of equal sizes (the last part may be smaller)."""
    x, b = node[0], node.build
    axis = x.axis(node.int("axis", 0))
    if node.opset >= 13 and node.get(1) is not None:
        sizes = node.ints_of(1, "the sizes of the parts")
    elif node.opset < 13 and node.has("split"):
        sizes = node.ints("split")
    else:
        count = node.int("num_outputs", node.output_count)
        check_steps(count, "parts")
        part = -(-x.shape[axis] // count)
        sizes = [max(0, min(part, x.shape[axis] - index * part)) for index in range(count)]
    if sum(sizes) != x.shape[axis]:
        raise NodeError(f"parts {sizes} do not add up to size {x.shape[axis]} of axis {axis}")
    starts = np.cumsum([0, *sizes])
    return [b.slice_axis(x, axis, int(start), size) for start, size in zip(starts, sizes, strict=False)]


@onnx_op("Tile", since=6)
def tile(node: Node) -> Tensor:
    """Repetition along each axis."""
    x, b = node[0], node.build
    repeats = node.ints_of(1, "the repeats")
    wide = b.reshape(x, [size for pair in zip([1] * x.rank, x.shape, strict=True) for size in pair])
    wide = b.broadcast(wide, [size for pair in zip(repeats, x.shape, strict=True) for size in pair])
    return b.reshape(wide, [times * size for times, size in zip(repeats, x.shape, strict=True)])


@onnx_op("Pad")
def pad_1(node: Node) -> Tensor:
    """Padding; the amounts are an attribute."""
    pads = node.ints("pads" if node.has("pads") else "paddings")
    return _pad(node.build, node[0], pads, node.str("mode", "constant"), node.float("value", 0.0))


@onnx_op("Pad", since=11)
def pad_11(node: Node) -> Tensor:
    """Padding of some or all axes; the amounts are an operand that is known at import."""
    x = node[0]
    pads = node.ints_of(1, "the padding")
    axes = [x.axis(axis) for axis in node.ints_of(3, "axes")] if node.get(3) is not None else list(range(x.rank))
    low, high = [0] * x.rank, [0] * x.rank
    for axis, a, z in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        low[axis], high[axis] = a, z
    value: float | int = 0
    if node.get(2) is not None and node[2].size:
        value = node.known(2, "the value of the padding").reshape(-1)[0].item()
    return _pad(node.build, x, [*low, *high], node.str("mode", "constant"), value)


def _pad(b: Builder, x: Tensor, pads: Sequence[int], mode: str, value: float) -> Tensor:
    low, high = list(pads[: x.rank]), list(pads[x.rank :])
    if mode == "constant":
        return b.pad(x, low, high, value)
    for axis, (a, z) in enumerate(zip(low, high, strict=True)):
        if abs(a) + abs(z) > LONGEST_PADDING:
            raise NodeError(f"padding by {a} and {z} elements is not supported")
        if a or z:
            x = _take_slices(b, x, axis, padding_indices(x.shape[axis], a, z, mode))
    return x


def padding_indices(size: int, low: int, high: int, mode: str) -> Array:
    """The index of the element that each position of a padded axis repeats."""
    at = arrays.arange(-low, size + high)
    match mode:
        case "edge":
            return np.clip(at, 0, size - 1)
        case "wrap":
            return at % size
        case "reflect":
            period = max(1, 2 * (size - 1))
            at = at % period
            return np.minimum(at, period - at) if size > 1 else np.zeros_like(at)
        case _:
            raise NodeError(f"mode {mode!r} is unknown")


def _take_slices(b: Builder, x: Tensor, axis: int, indices: Array) -> Tensor:
    """A gather with known indices as a concatenation of slices, each with a constant step."""
    slices: list[Tensor] = []
    start = 0
    # The step changes at the end of each piece, and also on one side of a piece of one element.
    check_steps(int(np.count_nonzero(np.diff(indices, 2))) // 2, "pieces of a padded axis")
    while start < len(indices):
        stop = start + 1
        step = int(indices[stop] - indices[start]) if stop < len(indices) else 1
        while stop < len(indices) and int(indices[stop] - indices[stop - 1]) == step:
            stop += 1
        if step == 0:
            one = b.slice_axis(x, axis, int(indices[start]), 1)
            slices.append(b.broadcast(one, [*x.shape[:axis], stop - start, *x.shape[axis + 1 :]]))
        else:
            # The last element of this run may begin a longer run (the middle of a reflection): leave it there.
            starts, sizes, steps = [0] * x.rank, list(x.shape), [1] * x.rank
            starts[axis], sizes[axis], steps[axis] = int(indices[start]), stop - start, step
            slices.append(b.slice(x, starts, sizes, steps))
        start = stop
    return b.concat(slices, axis)


@onnx_op("DepthToSpace")
def depth_to_space(node: Node) -> Tensor:
    """Moves channels to blocks of the spatial dimensions."""
    x, b, block = node[0], node.build, node.int("blocksize")
    n, c, h, w = x.shape
    if node.str("mode", "DCR") == "DCR":
        split_up, order = [n, block, block, c // block**2, h, w], [0, 3, 4, 1, 5, 2]
    else:
        split_up, order = [n, c // block**2, block, block, h, w], [0, 1, 4, 2, 5, 3]
    return b.reshape(b.transpose(b.reshape(x, split_up), order), [n, c // block**2, h * block, w * block])


@onnx_op("SpaceToDepth")
def space_to_depth(node: Node) -> Tensor:
    """Moves blocks of the spatial dimensions to channels."""
    x, b, block = node[0], node.build, node.int("blocksize")
    n, c, h, w = x.shape
    parts = b.reshape(x, [n, c, h // block, block, w // block, block])
    order = [0, 3, 5, 1, 2, 4] if node.str("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    return b.reshape(b.transpose(parts, order), [n, c * block**2, h // block, w // block])


@onnx_op("Trilu", since=14)
def trilu(node: Node) -> Tensor:
    """The upper or lower triangle of the last two dimensions."""
    x, b = node[0], node.build
    k = 0 if node.get(1) is None else node.ints_of(1, "k")[0]
    ones = arrays.full(x.shape[-2:], True, np.bool_)
    keep = known(np.triu(ones, k) if node.int("upper", 1) else np.tril(ones, k))
    if x.dtype == np.bool_:
        return b.binary("and", x, keep)
    return b.select(keep, x, 0)


@onnx_op("ReverseSequence")
def reverse_sequence(node: Node) -> Tensor:
    """The first elements of each sequence in reverse order."""
    x, b = node[0], node.build
    time, batch = node.int("time_axis", 0), node.int("batch_axis", 1)
    lengths = b.cast(node[1], INT64)
    size = x.shape[time]
    at = known(arrays.arange(size).reshape(1, -1))
    ends = b.reshape(lengths, [x.shape[batch], 1])
    index = b.select(b.compare("lt", at, ends), b.sub(b.sub(ends, 1), at), at)
    turned = b.transpose(x, [batch, time, *(a for a in range(x.rank) if a not in (batch, time))])
    rest = turned.shape[2:]
    rows = b.reshape(turned, [x.shape[batch] * size, math.prod(rest)])
    flat = b.add(index, known(arrays.arange(x.shape[batch]).reshape(-1, 1) * size))
    picked = b.reshape(b.gather(rows, flat, 0), turned.shape)
    order = [batch, time, *(a for a in range(x.rank) if a not in (batch, time))]
    return b.transpose(picked, list(np.argsort(order)))


@onnx_op("CenterCropPad", since=18)
def center_crop_pad(node: Node) -> Tensor:
    """Cropping or padding to a shape, around the centre."""
    x, b = node[0], node.build
    axes = [x.axis(axis) for axis in node.ints("axes", range(x.rank))]
    low, high = [0] * x.rank, [0] * x.rank
    for axis, size in zip(axes, node.ints_of(1, "the shape"), strict=True):
        extra = size - x.shape[axis]
        low[axis] = -((-extra) // 2) if extra < 0 else extra // 2
        high[axis] = extra - low[axis]
    return b.pad(x, low, high, 0)
