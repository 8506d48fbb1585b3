"""Convolutions and matrix products with the operators that ONNX Runtime's optimiser fuses into them."""

from __future__ import annotations

from collections.abc import Sequence

from ...node import Node
from ...tensors import NodeError, Tensor
from ...wide import in_f32
from ..convolution import conv
from ..linear import gemm, matmul
from ..named_activations import named_activation
from . import microsoft_op


@microsoft_op("FusedConv")
def fused_conv(node: Node) -> Tensor:
    """An activation of a convolution, or of its sum with a fourth operand."""
    b, params = node.build, node.floats("activation_params", [])
    result = conv(node)
    if (addend := node.get(3)) is not None:
        result = b.add(result, addend)
    name = node.str("activation", "")
    if not name:
        return result
    if name == "Clip":
        if len(params) != 2:
            raise NodeError(f"activation Clip has {len(params)} activation_params, expected 2")
        return b.minimum(b.maximum(result, params[0]), params[1])
    return named_activation(b, name, *params[:2])(result)


@microsoft_op("FusedGemm")
@in_f32
def fused_gemm(node: Node) -> Tensor:
    """An activation of alpha A' B' + beta C."""
    name, given = node.str("activation", ""), ("activation_alpha", "activation_beta")
    alpha, beta = (node.float(key) if node.has(key) else None for key in given)
    result = gemm(node)
    return named_activation(node.build, name, alpha, beta)(result) if name else result


@microsoft_op("FusedMatMul", "TransposeMatMul")
@in_f32
def fused_matmul(node: Node) -> Tensor:
    """alpha A' B'; operands may be transposed, or have the rows as first dimension, before the batch dimensions."""
    b, alpha = node.build, node.float("alpha", 1.0)
    x = _batch_first(node, node[0], "transBatchA")
    y = _batch_first(node, node[1], "transBatchB")
    if alpha != 1 and y.array is not None:
        y, alpha = b.mul(y, alpha), 1.0
    flips = [bool(node.int(name, 0)) for name in ("transA", "transB")]
    result = matmul(b, x, y, transpose_a=flips[0], transpose_b=flips[1])
    return result if alpha == 1 else b.mul(result, alpha)


def _batch_first(node: Node, x: Tensor, attribute: str) -> Tensor:
    """x [rows, batch..., columns] as [batch..., rows, columns] if the attribute is set."""
    if not node.int(attribute, 0) or x.rank < 3:
        return x
    order: Sequence[int] = [*range(1, x.rank - 1), 0, x.rank - 1]
    return node.build.transpose(x, order)
