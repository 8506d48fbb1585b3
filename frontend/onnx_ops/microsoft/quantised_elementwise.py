"""Arithmetic, activations and concatenation of quantised values; each operand and result has its own scale."""

from __future__ import annotations

from collections.abc import Callable

from ...builder import Builder
from ...node import Node
from ...tensors import FLOAT32, NodeError, Tensor, known
from ..activation import leaky
from ..quantised import quantise
from . import microsoft_op
from .quantisation import offset, real, rounded, scalar, scale_of


@microsoft_op("QLinearAdd")
def quantised_add(node: Node) -> Tensor:
    """The sum of two quantised tensors, quantised."""
    b, scale, zero = node.build, scale_of(node, 6), scalar(node, 7)
    terms = [b.mul(offset(b, node[at], scalar(node, at + 2)), b.div(scale_of(node, at + 1), scale)) for at in (0, 3)]
    return rounded(b, b.add(*terms), zero, node[0].dtype)


@microsoft_op("QLinearMul")
def quantised_mul(node: Node) -> Tensor:
    """The product of two quantised tensors, quantised."""
    b, scale, zero = node.build, scale_of(node, 6), scalar(node, 7)
    exact = b.mul(*(offset(b, node[at], scalar(node, at + 2)) for at in (0, 3)))
    factor = b.div(b.mul(scale_of(node, 1), scale_of(node, 4)), scale)
    return rounded(b, b.mul(exact, factor), zero, node[0].dtype)


@microsoft_op("QLinearSigmoid")
def quantised_sigmoid(node: Node) -> Tensor:
    """Sigmoid of quantised values, quantised."""
    return _activated(node, lambda b, x: b.unary("sigmoid", x))


@microsoft_op("QLinearLeakyRelu")
def quantised_leaky_relu(node: Node) -> Tensor:
    """LeakyRelu of quantised values, quantised."""
    slope = known(node.float("alpha", 0.01), FLOAT32)
    return _activated(node, lambda b, x: leaky(b, x, slope))


def _activated(node: Node, function: Callable[[Builder, Tensor], Tensor]) -> Tensor:
    b = node.build
    x = real(b, node[0], scale_of(node, 1), scalar(node, 2))
    return quantise(b, function(b, x), scale_of(node, 3), scalar(node, 4), node[0].dtype)


@microsoft_op("QLinearConcat")
def quantised_concat(node: Node) -> Tensor:
    """The concatenation of quantised tensors, each requantised with the result's scale and zero point."""
    b, scale, zero = node.build, scale_of(node, 0), scalar(node, 1)
    if zero is None or len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        raise NodeError("expected a scale and a zero point, then tensors, each with a scale and a zero point")
    parts = [
        quantise(b, real(b, node[at], scale_of(node, at + 1), scalar(node, at + 2)), scale, zero, zero.dtype)
        for at in range(2, len(node.inputs), 3)
    ]
    return b.concat(parts, parts[0].axis(node.int("axis")))
