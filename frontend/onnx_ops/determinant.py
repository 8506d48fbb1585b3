"""Determinants of matrices."""

from __future__ import annotations

import math

from .. import arrays
from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import NodeError, Tensor, check_steps, known
from ..wide import in_f32


@onnx_op("Det", since=11)
@in_f32
def determinant(node: Node) -> Tensor:
    """The determinant of each matrix, by Gaussian elimination with partial pivoting."""
    b, x = node.build, node[0]
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or not x.is_float:
        raise NodeError(f"{x.dtype} of shape {list(x.shape)} has no square matrices of floats")
    size, batch = x.shape[-1], math.prod(x.shape[:-2])
    check_steps(size, "rows of a matrix")
    rest = b.reshape(x, [batch, size, size])
    result = b.full((batch,), 1, x.dtype)
    while rest.shape[1] > 1:
        pivot, rest = _eliminated(b, rest)
        result = b.mul(result, pivot)
    if size:
        result = b.mul(result, b.reshape(rest, [batch]))
    return b.reshape(result, x.shape[:-2])


def _eliminated(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """
    One step of elimination on matrices [B, M, M]: the signed pivot [B] of the first column, and the remaining matrices
    [B, M - 1, M - 1]. The row with the largest first element is exchanged with the first row, which changes the sign.
    """
    batch, size, _ = x.shape
    column = b.unary("abs", b.slice_axis(x, 2, 0, 1))
    positions = known(arrays.arange(size).reshape(1, size, 1))
    at = b.arg_reduce("max", column, 1)
    chosen = b.compare("eq", positions, at)
    top = b.reduce("sum", b.select(chosen, x, 0), [1])
    below = b.slice_axis(b.select(chosen, b.slice_axis(x, 1, 0, 1), x), 1, 1, size - 1)
    pivot = b.slice_axis(top, 2, 0, 1)
    # If the largest element is 0, so is the whole column, and the determinant.
    divisor = b.select(b.compare("eq", pivot, 0), 1, pivot)
    factors = b.div(b.slice_axis(below, 2, 0, 1), divisor)
    rest = b.sub(b.slice_axis(below, 2, 1, size - 1), b.mul(factors, b.slice_axis(top, 2, 1, size - 1)))
    signed = b.select(b.compare("eq", at, 0), pivot, b.unary("neg", pivot))
    return b.reshape(signed, [batch]), rest
