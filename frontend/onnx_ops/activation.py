"""Activation functions."""

from __future__ import annotations

import math

import numpy as np

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import FLOAT32, Tensor, known
from ..wide import in_f32


def softplus(b: Builder, x: Tensor) -> Tensor:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow."""
    small = b.unary("exp", b.unary("neg", b.unary("abs", x)))
    return b.add(b.unary("relu", x), b.unary("log", b.add(small, 1)))


def softmax(b: Builder, x: Tensor, axes: list[int], log: bool = False) -> Tensor:
    """
    Softmax (or its logarithm) over some axes, with the maximum subtracted first; narrow floats are computed in f32.
    """
    if x.size == 0:
        return x
    wide = b.cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    shifted = b.sub(wide, b.reduce("max", wide, axes))
    powers = b.unary("exp", shifted)
    total = b.reduce("sum", powers, axes)
    result = b.sub(shifted, b.unary("log", total)) if log else b.mul(powers, b.unary("reciprocal", total))
    return b.cast(result, x.dtype)


def _first_axis(node: Node, x: Tensor) -> int:
    """The attribute `axis` of operators that apply to this and all following axes; it may equal the rank."""
    axis = node.int("axis", 1)
    return axis if axis == x.rank else x.axis(axis)


@onnx_op("Softmax", "LogSoftmax")
def softmax_1(node: Node) -> Tensor:
    """Softmax before opset 13, over `axis` and all following axes together."""
    x = node[0]
    axis = _first_axis(node, x)
    return softmax(node.build, x, list(range(axis, x.rank)), node.proto.op_type == "LogSoftmax")


@onnx_op("Softmax", "LogSoftmax", since=13)
def softmax_13(node: Node) -> Tensor:
    """Softmax over one axis."""
    x = node[0]
    return softmax(node.build, x, [x.axis(node.int("axis", -1))], node.proto.op_type == "LogSoftmax")


@onnx_op("Hardmax")
def hardmax_1(node: Node) -> Tensor:
    """1 at the first maximum over all axes from `axis` on, 0 elsewhere."""
    x, b = node[0], node.build
    axis = _first_axis(node, x)
    flat = b.reshape(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])
    return b.reshape(_hardmax(b, flat, 1), x.shape)


@onnx_op("Hardmax", since=13)
def hardmax_13(node: Node) -> Tensor:
    """1 at the first maximum along one axis, 0 elsewhere."""
    return _hardmax(node.build, node[0], node[0].axis(node.int("axis", -1)))


def _hardmax(b: Builder, x: Tensor, axis: int) -> Tensor:
    if not x.size:
        return x
    shape = [1] * x.rank
    shape[axis] = x.shape[axis]
    positions = b.reshape(_known_range(x.shape[axis]), shape)
    return b.cast(b.compare("eq", b.arg_reduce("max", x, axis), positions), x.dtype)


def _known_range(size: int) -> Tensor:
    return Tensor((size,), np.dtype(np.int64), arrays.arange(size))


@onnx_op("LeakyRelu")
def leaky_relu(node: Node) -> Tensor:
    """x where x >= 0, else alpha x."""
    x = node[0]
    return leaky(node.build, x, known(node.float("alpha", 0.01), x.dtype))


@onnx_op("PRelu")
def prelu(node: Node) -> Tensor:
    """x where x > 0, else slope x."""
    b, x, slope = node.build, node[0], node[1]
    if node.opset < 7 and slope.size > 1 and slope.rank == 1:
        slope = b.reshape(slope, [slope.size, *[1] * (x.rank - 2)])
    return leaky(b, x, slope)


def leaky(b: Builder, x: Tensor, slope: Tensor) -> Tensor:
    """x where x >= 0, else slope x."""
    steep = slope.array is None or bool(np.any((slope.array > 1) | (slope.array == 0)))
    # A slope of 0 times infinity would be NaN.
    return b.select(b.compare("lt", x, 0), b.mul(x, slope), x) if steep else b.maximum(x, b.mul(x, slope))


@onnx_op("Elu")
@in_f32
def elu_op(node: Node) -> Tensor:
    """x where x > 0, else alpha (e^x - 1)."""
    return elu(node.build, node[0], node.float("alpha", 1.0))


@onnx_op("Selu")
@in_f32
def selu(node: Node) -> Tensor:
    """gamma elu(x)"""
    alpha, gamma = node.float("alpha", 1.67326319217681884765625), node.float("gamma", 1.05070102214813232421875)
    return node.build.mul(elu(node.build, node[0], alpha), gamma)


@onnx_op("Celu")
@in_f32
def celu(node: Node) -> Tensor:
    """max(x, 0) + min(0, alpha (e^(x / alpha) - 1))"""
    b, x, alpha = node.build, node[0], node.float("alpha", 1.0)
    negative = b.sub(b.unary("exp", b.mul(b.minimum(x, 0), 1 / alpha)), 1)
    return b.add(b.unary("relu", x), b.mul(negative, alpha))


def elu(b: Builder, x: Tensor, alpha: float) -> Tensor:
    """x where x > 0, else alpha (e^x - 1)."""
    negative = b.sub(b.unary("exp", b.minimum(x, 0)), 1)
    return b.add(b.unary("relu", x), b.mul(negative, alpha))


@onnx_op("HardSigmoid")
def hard_sigmoid_op(node: Node) -> Tensor:
    """max(0, min(1, alpha x + beta))"""
    return hard_sigmoid(node.build, node[0], node.float("alpha", 0.2), node.float("beta", 0.5))


@onnx_op("HardSwish")
def hard_swish(node: Node) -> Tensor:
    """x hardsigmoid(x) with alpha = 1/6, beta = 1/2"""
    return node.build.mul(node[0], hard_sigmoid(node.build, node[0], 1 / 6, 0.5))


def hard_sigmoid(b: Builder, x: Tensor, alpha: float, beta: float) -> Tensor:
    """max(0, min(1, alpha x + beta))"""
    return b.minimum(b.unary("relu", b.add(b.mul(x, alpha), beta)), 1)


@onnx_op("Softplus")
def softplus_op(node: Node) -> Tensor:
    """log(1 + e^x)"""
    return softplus(node.build, node[0])


@onnx_op("Softsign")
def softsign(node: Node) -> Tensor:
    """x / (1 + |x|)"""
    b, x = node.build, node[0]
    return b.div(x, b.add(b.unary("abs", x), 1))


@onnx_op("Mish")
def mish(node: Node) -> Tensor:
    """x tanh(softplus(x))"""
    return node.build.mul(node[0], node.build.unary("tanh", softplus(node.build, node[0])))


@onnx_op("Swish")
def swish(node: Node) -> Tensor:
    """x sigmoid(alpha x)"""
    b, x, alpha = node.build, node[0], node.float("alpha", 1.0)
    return b.mul(x, b.unary("sigmoid", x if alpha == 1 else b.mul(x, alpha)))


@onnx_op("ThresholdedRelu")
def thresholded_relu(node: Node) -> Tensor:
    """x where x > alpha, else 0."""
    b, x = node.build, node[0]
    return b.select(b.compare("gt", x, node.float("alpha", 1.0)), x, 0)


@onnx_op("Shrink")
def shrink(node: Node) -> Tensor:
    """x + bias below -lambd, x - bias above lambd, 0 between."""
    b, x, bias, limit = node.build, node[0], node.float("bias", 0.0), node.float("lambd", 0.5)
    above = b.select(b.compare("gt", x, limit), b.sub(x, bias), 0)
    return b.select(b.compare("lt", x, -limit), b.add(x, bias), above)


@onnx_op("Gelu")
def gelu_op(node: Node) -> Tensor:
    """x Phi(x), by erf or by tanh."""
    return (gelu_by_tanh if node.str("approximate", "none") == "tanh" else gelu)(node.build, node[0])


def gelu(b: Builder, x: Tensor) -> Tensor:
    """x Phi(x), by erf."""
    return b.mul(b.mul(x, 0.5), b.add(b.unary("erf", b.mul(x, 1 / math.sqrt(2))), 1))


def gelu_by_tanh(b: Builder, x: Tensor) -> Tensor:
    """x Phi(x), approximated: tanh of a polynomial instead of erf."""
    cubic = b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715))
    return b.mul(b.mul(x, 0.5), b.add(b.unary("tanh", b.mul(cubic, math.sqrt(2 / math.pi))), 1))
