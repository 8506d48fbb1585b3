"""Reductions and cumulative sums."""

from __future__ import annotations

import math

import numpy as np

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, Tensor
from ..wide import in_f32

# The opset version since which the axes of each operator are an operand.
_AXES_OPERAND = {"ReduceSum": 13}


def _reduce(b: Builder, name: str, x: Tensor, axes: list[int]) -> Tensor:
    """One of ONNX's reductions over non-negative axes, which are kept with size 1."""
    match name:
        case "ReduceSum":
            return b.reduce("sum", x, axes)
        case "ReduceMean":
            total = b.reduce("sum", x, axes)
            count = max(1, math.prod(x.shape[axis] for axis in axes))
            return b.mul(total, 1 / count) if x.is_float else b.div(total, count)
        case "ReduceMax" | "ReduceMin":
            kind = "max" if name == "ReduceMax" else "min"
            if x.dtype == np.bool_:
                narrow = b.cast(x, np.dtype(np.uint8))
                return b.cast(b.reduce(kind, narrow, axes), x.dtype)
            return b.reduce(kind, x, axes)
        case "ReduceProd":
            return b.reduce("prod", x, axes)
        case "ReduceSumSquare":
            return b.reduce("sum", b.mul(x, x), axes)
        case "ReduceL1":
            return b.reduce("sum", b.unary("abs", x), axes)
        case "ReduceL2":
            return _float_function(b, "sqrt", b.reduce("sum", b.mul(x, x), axes))
        case "ReduceLogSum":
            return _float_function(b, "log", b.reduce("sum", x, axes))
        case _:  # ReduceLogSumExp
            if x.size == 0:
                return _float_function(b, "log", b.reduce("sum", x, axes))
            top = b.reduce("max", x, axes)
            # An infinite maximum would give inf - inf.
            top = b.select(b.unary("isinf", top), 0, top) if x.is_float else top
            total = b.reduce("sum", _float_function(b, "exp", b.sub(x, top)), axes)
            return b.add(_float_function(b, "log", total), top)


def _float_function(b: Builder, name: str, x: Tensor) -> Tensor:
    if x.is_float:
        return b.unary(name, x)
    return b.cast(b.unary(name, b.cast(x, np.dtype(np.float64))), x.dtype)


@onnx_op("ReduceMean", "ReduceSumSquare", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
@in_f32
def reduce_and_more(node: Node) -> Tensor:
    """Mean, sum of squares, its root, or logarithm of the sum or of the sum of exponentials, by the operator's name."""
    return _reduction(node)


@onnx_op("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1")
def reduce(node: Node) -> Tensor:
    """Sum, maximum, minimum, product or sum of absolute values, by the operator's name."""
    return _reduction(node)


def _reduction(node: Node) -> Tensor:
    """The reduction that a node names, over `axes` (attribute or operand), or over all axes if there are none."""
    b, x, name = node.build, node[0], node.proto.op_type
    axes = node.axes(1, _AXES_OPERAND.get(name, 18), x.rank)
    if not axes:
        if axes is not None and not axes and not node.int("noop_with_empty_axes", 0):
            axes = None
        if axes is None and node.int("noop_with_empty_axes", 0):
            axes = []
        axes = list(range(x.rank)) if axes is None else axes
    axes = sorted(set(axes))
    result = _reduce(b, name, x, axes)
    if node.int("keepdims", 1):
        return result
    return b.reshape(result, [size for axis, size in enumerate(result.shape) if axis not in axes])


@onnx_op("ArgMax", "ArgMin")
def arg_reduce(node: Node) -> Tensor:
    """Index of the first (or last) extremum along an axis."""
    b, x = node.build, node[0]
    axis = x.axis(node.int("axis", 0))
    last = bool(node.int("select_last_index", 0))
    if last:
        starts, steps = [0] * x.rank, [1] * x.rank
        starts[axis], steps[axis] = x.shape[axis] - 1, -1
        x = b.slice(x, starts, x.shape, steps)
    result = b.arg_reduce("max" if node.proto.op_type == "ArgMax" else "min", x, axis)
    if last:
        result = b.sub(b.full((), x.shape[axis] - 1, INT64), result)
    if node.int("keepdims", 1):
        return result
    return b.reshape(result, [*x.shape[:axis], *x.shape[axis + 1 :]])


@onnx_op("CumSum", since=11)
def cumsum(node: Node) -> Tensor:
    """Sums along an axis up to each element."""
    x = node[0]
    (axis,) = node.ints_of(1, "the axis")
    return node.build.cumsum(x, x.axis(axis), bool(node.int("exclusive", 0)), bool(node.int("reverse", 0)))


@onnx_op("CumProd", since=26)
def cumprod(node: Node) -> Tensor:
    """Products along an axis up to each element, in log2(size) steps of doubling distance."""
    b, x = node.build, node[0]
    (operand,) = node.ints_of(1, "the axis")
    axis = x.axis(operand)
    size, reverse = x.shape[axis], bool(node.int("reverse", 0))

    def moved(values: Tensor, by: int) -> Tensor:
        low, high = [0] * x.rank, [0] * x.rank
        kept = b.slice_axis(values, axis, by if reverse else 0, size - by)
        (high if reverse else low)[axis] = by
        return b.pad(kept, low, high, 1)

    result = moved(x, 1) if node.int("exclusive", 0) and size else x
    reach = 1
    while reach < size:
        result = b.mul(result, moved(result, reach))
        reach *= 2
    return result
