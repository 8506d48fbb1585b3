"""Gaussian error linear units and their approximations."""

from __future__ import annotations

from ...node import Node
from ...tensors import Tensor
from ...wide import in_f32
from ..activation import gelu, gelu_by_tanh
from . import microsoft_op


@microsoft_op("Gelu")
@in_f32
def gelu_op(node: Node) -> Tensor:
    """x Phi(x), by erf."""
    return gelu(node.build, node[0])


@microsoft_op("BiasGelu")
@in_f32
def bias_gelu(node: Node) -> Tensor:
    """Gelu of x + bias, by erf."""
    return gelu(node.build, node.build.add(node[0], node[1]))


@microsoft_op("FastGelu")
@in_f32
def fast_gelu(node: Node) -> Tensor:
    """Gelu of x, or of x + bias, by tanh."""
    b, x, bias = node.build, node[0], node.get(1)
    return gelu_by_tanh(b, x if bias is None else b.add(x, bias))


@microsoft_op("QuickGelu")
@in_f32
def quick_gelu(node: Node) -> Tensor:
    """x sigmoid(alpha x)"""
    b, x, alpha = node.build, node[0], node.float("alpha", 1.702)
    return b.mul(x, b.unary("sigmoid", x if alpha == 1 else b.mul(x, alpha)))
