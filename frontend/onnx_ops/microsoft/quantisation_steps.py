"""ONNX Runtime's variants of QuantizeLinear and DequantizeLinear, for types that ONNX's operators once lacked."""

from __future__ import annotations

from ...node import Node
from ...tensors import Tensor
from ..quantised import dequantize_linear, quantize_linear
from . import microsoft_op
from .quantisation import real, rounded, scalar, scale_of


@microsoft_op("QuantizeLinear")
def quantise_step(node: Node) -> Tensor:
    """As ONNX's QuantizeLinear."""
    return quantize_linear(node)


@microsoft_op("DequantizeLinear")
def dequantise_step(node: Node) -> Tensor:
    """As ONNX's DequantizeLinear."""
    return dequantize_linear(node)


@microsoft_op("QLinearWhere")
def quantised_where(node: Node) -> Tensor:
    """Elements of two quantised tensors, selected by a condition, requantised by the result's scale and zero point."""
    b, scale, zero = node.build, scale_of(node, 7), scalar(node, 8)
    x, y = (real(b, node[at], scale_of(node, at + 1), scalar(node, at + 2)) for at in (1, 4))
    return rounded(b, b.div(b.select(node[0], x, y), scale), zero, node[1].dtype)
