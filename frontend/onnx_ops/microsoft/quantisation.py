"""Dequantisation and requantisation for the quantised operators of `com.microsoft`."""

from __future__ import annotations

from ...builder import Builder
from ...node import Node
from ...tensors import FLOAT32, Dtype, NodeError, Tensor
from .. import quantised
from ..integer_products import INT32


def scalar(node: Node, index: int) -> Tensor | None:
    """An optional operand that is one number, without dimensions. Raises NodeError if it has more elements."""
    x = node.get(index)
    if x is None:
        return None
    if x.size != 1:
        raise NodeError(f"operand {index} has {x.size} elements, expected one scale or zero point for all of a tensor")
    return node.build.reshape(x, [])


def scale_of(node: Node, index: int) -> Tensor:
    """A required scale, one number. Raises NodeError if it is missing or has more elements."""
    scale = scalar(node, index)
    if scale is None:
        raise NodeError(f"operand {index}, a scale, is missing")
    return scale


def offset(b: Builder, x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero in f32, which is exact for quantised values."""
    return quantised.difference(b, x, zero)


def real(b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """scale (x - zero)"""
    return b.mul(offset(b, x, zero), scale)


def rounded(b: Builder, scaled: Tensor, zero: Tensor | None, dtype: Dtype) -> Tensor:
    """round(scaled) + zero in an integer type, saturated."""
    return quantised.rounded(b, scaled, zero, dtype)


def exact_sum(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    """The sum of quantised values as f32, rounded once."""
    return b.cast(b.reduce("sum", b.cast(x, INT32), axes), FLOAT32)
