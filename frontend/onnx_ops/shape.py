"""Shapes as values, constants and ranges, which are known at import, and changes of shape."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays
from ..node import Node, numpy_dtype, resolve_shape
from ..registry import onnx_op
from ..strings import encode
from ..tensors import INT64, NodeError, Tensor, is_float, known


@onnx_op("Shape")
def shape(node: Node) -> Tensor:
    """The shape, or a part of it."""
    x = node[0]
    start, end = node.int("start", 0), node.int("end", x.rank)
    return known(np.asarray(x.shape, np.int64)[slice(start, end)])


@onnx_op("Size")
def size(node: Node) -> Tensor:
    """The number of elements."""
    return known(node[0].size, INT64)


@onnx_op("Constant")
def constant(node: Node) -> Tensor:
    """A value that is stored in the file."""
    if node.has("value"):
        return known(node.tensor("value"), name=node.proto.output[0])
    if node.has("value_float"):
        return known(node.float("value_float"), np.float32)
    if node.has("value_int"):
        return known(node.int("value_int"), INT64)
    if node.has("value_floats"):
        return known(node.floats("value_floats"), np.float32)
    if node.has("value_ints"):
        return known(node.ints("value_ints"), INT64)
    if node.has("value_string"):
        return known(encode(node.str("value_string")))
    if node.has("value_strings"):
        return known(encode(node.strs("value_strings", [])))
    raise NodeError("sparse tensors are not supported")


@onnx_op("Range", since=11)
def range_op(node: Node) -> Tensor:
    """start, start + delta, ... up to limit."""
    start, limit, delta = (node.known(index, "the range").reshape(()) for index in range(3))
    if not delta.item():
        raise NodeError("the step of a range is 0")
    if is_float(start.dtype):
        count = max(0, math.ceil((limit.item() - start.item()) / delta.item()))
    else:
        count = len(range(start.item(), limit.item(), delta.item()))
    values = arrays.arange(count).astype(start.dtype) * delta + start
    return known(values.astype(start.dtype))


@onnx_op("EyeLike")
def eye_like(node: Node) -> Tensor:
    """Ones on a diagonal."""
    x = node[0]
    dtype = numpy_dtype(node.int("dtype")) if node.has("dtype") else x.dtype
    return known(arrays.eye(x.shape[0], x.shape[1], node.int("k", 0), dtype))


@onnx_op("OneHot", since=9)
def one_hot(node: Node) -> Tensor:
    """`on` at the given index along a new axis, `off` elsewhere."""
    b, indices, values = node.build, node[0], node[2]
    depth = int(node.known(1, "the depth").reshape(-1)[0])
    axis = indices.axis(node.int("axis", -1), indices.rank + 1)
    wide = b.cast(indices, INT64)
    wide = b.select(b.compare("lt", wide, 0), b.add(wide, depth), wide)
    wide = b.reshape(wide, [*indices.shape[:axis], 1, *indices.shape[axis:]])
    positions = [1] * (indices.rank + 1)
    positions[axis] = depth
    hit = b.compare("eq", wide, known(arrays.arange(depth).reshape(positions)))
    off, on = (b.reshape(b.slice_axis(values, 0, index, 1), []) for index in (0, 1))
    return b.select(hit, on, off)


@onnx_op("Reshape")
def reshape_1(node: Node) -> Tensor:
    """The operand with another shape, which is an attribute (until opset 4) or an operand."""
    x = node[0]
    target = node.ints("shape") if node.opset < 5 else node.ints_of(1, "the shape")
    return node.build.reshape(x, resolve_shape(target, x.shape, bool(node.int("allowzero", 0))))


@onnx_op("Flatten")
def flatten(node: Node) -> Tensor:
    """A reshape to two dimensions: those before the axis, and the axis with those after it."""
    x = node[0]
    axis = node.int("axis", 1)
    axis = axis if axis == x.rank else x.axis(axis)
    return node.build.reshape(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@onnx_op("Squeeze")
def squeeze(node: Node) -> Tensor:
    """The operand without some or all dimensions of size 1."""
    x = node[0]
    axes = node.axes(1, 13, x.rank)
    if axes is None:
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    if any(x.shape[axis] != 1 for axis in axes):
        raise NodeError(f"shape {list(x.shape)} cannot be squeezed at {axes}")
    return node.build.reshape(x, [size for axis, size in enumerate(x.shape) if axis not in axes])


@onnx_op("Unsqueeze")
def unsqueeze(node: Node) -> Tensor:
    """The operand with new dimensions of size 1."""
    x = node[0]
    count = len(node.ints_of(1, "axes") if node.opset >= 13 else node.ints("axes"))
    axes = node.axes(1, 13, x.rank + count) or []
    sizes = iter(x.shape)
    return node.build.reshape(x, [1 if axis in axes else next(sizes) for axis in range(x.rank + count)])


@onnx_op("Identity")
def identity(node: Node) -> Tensor:
    """The operand."""
    return node.any(0)


@onnx_op("Expand", since=8)
def expand(node: Node) -> Tensor:
    """The operand broadcast with a shape, in both directions."""
    target = node.ints_of(1, "the shape")
    return node.build.broadcast(node[0], np.broadcast_shapes(node[0].shape, tuple(target)))


@onnx_op("BlackmanWindow", "HannWindow", "HammingWindow")
def window(node: Node) -> Tensor:
    """A window function, of a size that is known at import."""
    count = int(node.known(0, "the size").reshape(-1)[0])
    n = arrays.arange(count)
    period = count if node.int("periodic", 1) else count - 1
    phase = 2 * np.pi * n / max(period, 1)
    match node.proto.op_type:
        case "HannWindow":
            values = 0.5 - 0.5 * np.cos(phase)
        case "HammingWindow":
            values = 25 / 46 - 21 / 46 * np.cos(phase)
        case _:
            values = 0.42 - 0.5 * np.cos(phase) + 0.08 * np.cos(2 * phase)
    return known(values.astype(numpy_dtype(node.int("output_datatype", 1))))
