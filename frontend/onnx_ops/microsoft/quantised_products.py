"""Products of quantised matrices, one of which may be quantised at run time."""

from __future__ import annotations

from ...builder import Builder
from ...node import Node
from ...tensors import FLOAT32, NodeError, Tensor
from ..integer_products import centred, integer_matmul
from ..quantised import dynamically_quantised
from . import microsoft_op
from .quantisation import rounded, scalar, scale_of


@microsoft_op("MatMulIntegerToFloat")
def integer_matmul_to_float(node: Node) -> Tensor:
    """The product of two quantised matrices plus a bias, as floats."""
    return _product(node, node[0], scale_of(node, 2), scalar(node, 4), (3, 5, 6))


@microsoft_op("DynamicQuantizeMatMul")
def dynamic_quantise_matmul(node: Node) -> Tensor:
    """The product of A, quantised to uint8 by the range of its values, and a quantised matrix, plus a bias."""
    x, scale, zero = dynamically_quantised(node.build, node[0])
    return _product(node, x, scale, zero, (2, 3, 4))


def _product(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None, rest: tuple[int, int, int]) -> Tensor:
    """
    x times the second operand, plus a bias; `rest`: the indices of the second operand's scale and zero point, and of
    the bias.
    """
    b, y = node.build, node[1]
    zero_y = None if node.get(rest[1]) is None else per_column(b, node[rest[1]])
    exact = integer_matmul(b, centred(b, x, zero), centred(b, y, zero_y))
    scale_y = node[rest[0]]
    result = b.mul(b.cast(exact, FLOAT32), b.mul(b.cast(scale, FLOAT32), b.cast(per_column(b, scale_y), FLOAT32)))
    bias = node.get(rest[2])
    return b.cast(result if bias is None else b.add(result, b.cast(bias, FLOAT32)), scale_y.dtype)


def per_column(b: Builder, parameter: Tensor) -> Tensor:
    """A scale or zero point, one or one for each column, shaped to broadcast over a matrix."""
    return b.reshape(parameter, []) if parameter.size == 1 else parameter


@microsoft_op("QGemm")
def quantised_gemm(node: Node) -> Tensor:
    """alpha (A - a)' (B - b)' + C, multiplied by the scales of A and B; as floats, or quantised."""
    b, alpha = node.build, node.float("alpha", 1.0)
    x, y = (
        b.transpose(node[at], [1, 0]) if node.int(flip, 0) else node[at] for at, flip in ((0, "transA"), (3, "transB"))
    )
    if x.rank != 2 or y.rank != 2:
        raise NodeError(f"operands of rank {x.rank} and {y.rank} are not matrices")
    exact = integer_matmul(b, centred(b, x, scalar(node, 2)), centred(b, y, per_column(b, node[5])))
    if (bias := node.get(6)) is not None:
        exact = b.add(exact, bias)
    factor = b.mul(b.mul(scale_of(node, 1), alpha), per_column(b, node[4]))
    scale, zero = scalar(node, 7), scalar(node, 8)
    if scale is None:
        return b.mul(b.cast(exact, FLOAT32), factor)
    if zero is None:
        raise NodeError("the result has a scale, but no zero point, which defines its type")
    return rounded(b, b.mul(b.cast(exact, FLOAT32), b.div(factor, scale)), zero, zero.dtype)
