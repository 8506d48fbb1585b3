"""Matrix products and Einstein summation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import NodeError, Tensor
from ..wide import in_f32
from .einsum import einsum as einsum_of


def matmul(b: Builder, x: Tensor, y: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """
    The product by numpy's matmul: a vector is a row as the left operand and a column as the right operand.

    `transpose_a` and `transpose_b` first transpose the last two dimensions of an operand that has at least two. Raises
    NodeError for scalars.
    """
    if x.rank == 0 or y.rank == 0:
        raise NodeError("scalars cannot be multiplied as matrices")
    left = b.reshape(x, [1, x.size]) if x.rank == 1 else x
    right = b.reshape(y, [y.size, 1]) if y.rank == 1 else y
    left, transpose_a = _turned(b, left, transpose_a and x.rank > 1)
    right, transpose_b = _turned(b, right, transpose_b and y.rank > 1)
    if left.rank > 2 and right.rank == 2 and not transpose_a:
        # The leading dimensions are merged with the rows: the matrix unit computes one large product more efficiently
        # than many small ones.
        tall = b.reshape(left, [math.prod(left.shape[:-1]), left.shape[-1]])
        result = b.matmul(tall, right, transpose_b=transpose_b)
        result = b.reshape(result, [*left.shape[:-1], result.shape[-1]])
    else:
        result = b.matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)
    shape = list(result.shape)
    if y.rank == 1:
        del shape[-1]
    if x.rank == 1:
        del shape[-1 if y.rank == 1 else -2]
    return b.reshape(result, shape)


def _turned(b: Builder, x: Tensor, turn: bool) -> tuple[Tensor, bool]:
    """Transpose an operand at import if it is known. Returns it, and whether the product must still transpose it."""
    if not turn or x.array is None:
        return x, turn
    return b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2]), False


@onnx_op("MatMul")
def matmul_op(node: Node) -> Tensor:
    """Matrix product with broadcasting; integers have 32 or 64 bits."""
    return matmul(node.build, node[0], node[1])


@onnx_op("Gemm")
def gemm_op(node: Node) -> Tensor | Sequence[Tensor | None]:
    """alpha A' B' + beta C"""
    # The product before the factor alpha may overflow a narrow float.
    apart = node.float("alpha", 1.0) != 1 and node[1].array is None
    return in_f32(gemm)(node) if apart else gemm(node)


def gemm(node: Node) -> Tensor:
    """The result of a node with Gemm's operands and attributes, computed in the type of the operands."""
    b, x, y = node.build, node[0], node[1]
    if x.rank != 2 or y.rank != 2:
        raise NodeError(f"operands of rank {x.rank} and {y.rank} are not matrices")
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not x.is_float and not factor.is_integer():
            raise NodeError(f"{name} = {factor:g} does not keep {x.dtype} matrices integer")
    if node.int("transB", 0) and y.array is not None:
        y = b.transpose(y, [1, 0])
        flip = False
    else:
        flip = bool(node.int("transB", 0))
    if alpha != 1 and y.array is not None:
        y, alpha = b.mul(y, alpha), 1.0
    result = b.matmul(x, y, transpose_a=bool(node.int("transA", 0)), transpose_b=flip)
    if alpha != 1:
        result = b.mul(result, alpha)
    bias = node.get(2)
    if bias is None or beta == 0:
        return result
    return b.add(result, bias if beta == 1 else b.mul(bias, beta))


@onnx_op("Einsum")
def einsum(node: Node) -> Tensor:
    """Sums of products in Einstein notation."""
    return einsum_of(node.build, node.str("equation"), node.all())
