"""Scatters. `dataflow.scatter` replaces, adds or takes the maximum; ONNX's other reductions use further operations."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, NodeError, Tensor, check_size, known
from .indexing import flat_element_indices, flat_tuple_indices

_MODES = {"none": "set", "add": "add", "max": "max"}
_COMBINE = {"mul": "mul", "min": "minimum"}


def scatter_rows(b: Builder, data: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """
    Replace rows of data, or combine them with updates: data [R, inner], rows int64 [U], updates [U, inner]. The last of
    several replacements of a row wins.
    """
    if data.size == 0 or updates.size == 0:
        return data
    if reduction in _MODES:
        return b.scatter(_MODES[reduction], data, rows, updates)
    if reduction == "min" and data.is_float:
        return b.unary("neg", b.scatter("max", b.unary("neg", data), rows, b.unary("neg", updates)))
    if reduction not in _COMBINE:
        raise NodeError(f"reduction '{reduction}': expected none, add, mul, max or min")
    if rows.array is not None:
        return _scatter_known(b, data, rows.array.reshape(-1), updates, reduction)
    return _one_by_one(b, data, rows, updates, reduction)


def _scatter_known(b: Builder, data: Tensor, rows: np.ndarray, updates: Tensor, reduction: str) -> Tensor:
    result = data
    waiting = list(range(len(rows)))
    while waiting:  # one round combines at most one update with each row
        round_: dict[int, int] = {}
        for update in waiting:
            round_.setdefault(int(rows[update]), update)
        waiting = [update for update in waiting if round_[int(rows[update])] != update]
        source = arrays.arange(data.shape[0])
        for row, update in round_.items():
            source[row] = data.shape[0] + update
        filler = b.full(data.shape, 1, data.dtype) if reduction == "mul" else data
        combined = b.gather(b.concat([filler, updates], 0), known(source), 0)
        result = b.binary(_COMBINE[reduction], result, combined)
    return result


def _one_by_one(b: Builder, data: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    if rows.size > 256:
        raise NodeError(f"{rows.size} indices known only at run time with reduction {reduction} are not supported")
    positions = known(arrays.arange(data.shape[0]).reshape(-1, 1))
    for number in range(rows.size):
        row = b.reshape(b.slice_axis(rows, 0, number, 1), [1, 1])
        changed = b.binary(_COMBINE[reduction], data, b.slice_axis(updates, 0, number, 1))
        data = b.select(b.compare("eq", positions, row), changed, data)
    return data


@onnx_op("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Tensor:
    """The data, with the element at each index replaced by an update, or combined with it."""
    b, x, indices, updates = node.build, node[0], node[1], node[2]
    axis, reduction = x.axis(node.int("axis", 0)), node.str("reduction", "none")
    others = [dim for dim in range(x.rank) if dim != axis]
    if reduction in _MODES and x.size and all(indices.shape[dim] == x.shape[dim] for dim in others):
        return _along_axis(b, x, indices, updates, [*others, axis], _MODES[reduction])
    flat = flat_element_indices(b, x.shape, indices, axis)
    result = scatter_rows(
        b,
        b.reshape(x, [x.size, 1]),
        b.reshape(flat, [flat.size]),
        b.reshape(updates, [updates.size, 1]),
        reduction,
    )
    return b.reshape(result, x.shape)


def _along_axis(b: Builder, x: Tensor, indices: Tensor, updates: Tensor, axis_last: list[int], mode: str) -> Tensor:
    """One scatter for each position of the other dimensions, as these positions are independent of each other."""
    rows = x.shape[axis_last[-1]]
    data, positions, values = (b.transpose(one, axis_last) for one in (x, indices, updates))
    shape, lanes = data.shape, x.size // rows
    count = positions.size // lanes
    result = b.scatter(
        mode, b.reshape(data, [lanes, rows]), b.reshape(positions, [lanes, count]), b.reshape(values, [lanes, count]), 1
    )
    return b.transpose(b.reshape(result, shape), list(np.argsort(axis_last)))


@onnx_op("ScatterND", since=11)
def scatter_nd(node: Node) -> Tensor:
    """The data, with the slice at each tuple of indices replaced by an update, or combined with it."""
    b, x, indices, updates = node.build, node[0], node[1], node[2]
    width = indices.shape[-1]
    if width > x.rank or width < 1:
        raise NodeError(f"index tuples of {width} do not fit data of rank {x.rank}")
    rows, inner = math.prod(x.shape[:width]), math.prod(x.shape[width:])
    flat = flat_tuple_indices(b, x.shape, indices, 0)
    result = scatter_rows(
        b,
        b.reshape(x, [rows, inner]),
        b.reshape(flat, [flat.size]),
        b.reshape(updates, [flat.size, inner]),
        node.str("reduction", "none"),
    )
    return b.reshape(result, x.shape)


@onnx_op("TensorScatter", since=24)
def tensor_scatter(node: Node) -> Tensor:
    """A cache with its rows replaced from a position on that is given for each element of the batch."""
    b, cache, update = node.build, node[0], node[1]
    axis, mode = cache.axis(node.int("axis", -2)), node.str("mode", "linear")
    if axis == 0 or mode not in ("linear", "circular"):
        raise NodeError(f"axis {axis}, mode {mode!r}: expected an axis after the batch, and mode linear or circular")
    batch, size, count = cache.shape[0], cache.shape[axis], update.shape[axis]
    positions = known(arrays.arange(count).reshape(1, -1))
    if node.get(2) is not None:
        positions = b.add(b.reshape(b.cast(node[2], INT64), [batch, 1]), positions)
    positions = b.broadcast(positions, [batch, count])
    if mode == "circular":
        positions = b.binary("mod", positions, size)
    order = [0, axis, *(dim for dim in range(1, cache.rank) if dim != axis)]
    data, values = b.transpose(cache, order), b.transpose(update, order)
    result = b.scatter(
        "set",
        b.reshape(data, [batch, size, math.prod(data.shape[2:])]),
        positions,
        b.reshape(values, [batch, count, math.prod(data.shape[2:])]),
        1,
    )
    return b.transpose(b.reshape(result, data.shape), list(np.argsort(order)))


@onnx_op("MaxUnpool", since=9)
def max_unpool(node: Node) -> Tensor:
    """Each element at the flat index that MaxPool returned for it, zeros elsewhere."""
    b, x, indices = node.build, node[0], node[1]
    rank = x.rank - 2
    kernel = node.ints("kernel_shape")
    strides, pads = node.ints("strides", [1] * rank), node.ints("pads", [0] * 2 * rank)
    spatial = [
        (size - 1) * stride - pads[axis] - pads[axis + rank] + k
        for axis, (size, stride, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    inferred = [*x.shape[:2], *spatial]
    shape = inferred if node.get(2) is None else node.ints_of(2, "the output's shape")
    # Indices refer to the pooled tensor, whose shape is the inferred one; a larger output is padded at the ends.
    flat = b.reshape(indices, [x.size])
    result = b.reshape(b.full([math.prod(inferred), 1], 0, x.dtype), [math.prod(inferred), 1])
    result = b.reshape(b.scatter("set", result, flat, b.reshape(x, [x.size, 1])), inferred)
    if list(shape) == inferred:
        return result
    if len(shape) != x.rank or any(wanted < size for wanted, size in zip(shape, inferred, strict=True)):
        raise NodeError(f"an output of shape {list(shape)} is smaller than {inferred}")
    return b.pad(result, [0] * x.rank, [w - size for w, size in zip(shape, inferred, strict=True)])


@onnx_op("Col2Im", since=18)
def col2im(node: Node) -> Tensor:
    """Columns [N, C * block, L] summed into an image, each block at its position: a scatter with known indices."""
    b, x = node.build, node[0]
    image, block = node.ints_of(1, "the image's shape"), node.ints_of(2, "the block's shape")
    rank = len(image)
    strides, dilations = node.ints("strides", [1] * rank), node.ints("dilations", [1] * rank)
    pads = node.ints("pads", [0] * 2 * rank)
    flat, inside = np.asarray([[0]], np.int64), np.asarray([[True]])
    for axis, size in enumerate(image):
        room = size + pads[axis] + pads[axis + rank] - (block[axis] - 1) * dilations[axis] - 1
        steps = arrays.arange(room // strides[axis] + 1) * strides[axis]
        at = arrays.outer_sum(arrays.arange(block[axis]) * dilations[axis], steps - pads[axis])
        positions = np.clip(at, 0, size - 1)
        flat = _outer(flat * size, positions)
        inside = _outer(inside.astype(np.int64), ((at >= 0) & (at < size)).astype(np.int64), product=True).astype(bool)
    batch, width, length = x.shape
    cells = flat.shape[0]
    if width % cells or length != flat.shape[1]:
        raise NodeError(f"columns of shape {list(x.shape)} do not fit blocks {block} in an image {image}")
    lanes = batch * (width // cells)
    values = b.reshape(x, [lanes, cells, length])
    values = b.select(known(inside), values, 0)
    positions = b.broadcast(known(flat.reshape(1, -1)), [lanes, flat.size])
    start = b.full([lanes, math.prod(image)], 0, x.dtype)
    result = b.scatter("add", start, positions, b.reshape(values, [lanes, flat.size]), 1)
    return b.reshape(result, [batch, width // cells, *image])


def _outer(x: np.ndarray, y: np.ndarray, product: bool = False) -> np.ndarray:
    """The sums or products of all pairs of elements of x [a, b] and y [c, d], as [a c, b d]."""
    check_size((x.size, y.size), x.dtype)
    left, right = x[:, None, :, None], y[None, :, None, :]
    joined = left * right if product else left + right
    return joined.reshape(x.shape[0] * y.shape[0], x.shape[1] * y.shape[1])
