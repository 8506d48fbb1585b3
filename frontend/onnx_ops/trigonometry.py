"""Inverse trigonometric functions, by argument reduction and a series."""

from __future__ import annotations

import math

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import FLOAT32, NodeError, Tensor

_HALVINGS = 2
"""The number of halvings of the angle: they reduce the argument from 1 (45 degrees) to 0.199 (11.25 degrees)."""
_TERMS = {4: 6, 8: 13}
"""The number of terms of the series by bytes of the type; the error, 0.199^(2 n + 1) / (2 n + 1), is below rounding."""


def arc_tangent(b: Builder, x: Tensor) -> Tensor:
    """
    The arc tangent of x.

    atan(x) = pi/2 - atan(1/x) reduces |x| to at most 1, and atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))), applied twice,
    to a fifth; there x - x^3/3 + x^5/5 - ... converges quickly. Narrow floats are computed in f32.
    """
    if not x.is_float:
        raise NodeError(f"{x.dtype} is not a float type")
    if x.dtype.itemsize < 4:
        return b.cast(arc_tangent(b, b.cast(x, FLOAT32)), x.dtype)
    size = b.unary("abs", x)
    over = b.compare("gt", size, 1)
    reduced = b.select(over, b.unary("reciprocal", size), size)
    for _ in range(_HALVINGS):
        root = b.unary("sqrt", b.add(b.mul(reduced, reduced), 1))
        reduced = b.div(reduced, b.add(root, 1))
    square = b.mul(reduced, reduced)
    terms = _TERMS[x.dtype.itemsize]
    series = b.full((), (-1) ** terms / (2 * terms + 1), x.dtype)
    for term in range(terms)[::-1]:
        series = b.add(b.mul(series, square), (-1) ** term / (2 * term + 1))
    angle = b.mul(b.mul(reduced, series), 2**_HALVINGS)
    angle = b.select(over, b.sub(b.full((), math.pi / 2, x.dtype), angle), angle)
    return b.select(b.compare("lt", x, 0), b.unary("neg", angle), angle)


def _wide(node: Node) -> Tensor:
    x = node[0]
    return node.build.cast(x, FLOAT32) if x.is_float and x.dtype.itemsize < 4 else x


@onnx_op("Atan", since=7)
def atan(node: Node) -> Tensor:
    """The arc tangent of x."""
    return arc_tangent(node.build, node[0])


@onnx_op("Asin", since=7)
def asin(node: Node) -> Tensor:
    """2 atan(x / (1 + sqrt(1 - x^2)))"""
    b, x = node.build, _wide(node)
    one = b.full((), 1, x.dtype)
    cosine = b.unary("sqrt", b.mul(b.sub(one, x), b.add(one, x)))
    return b.cast(b.mul(arc_tangent(b, b.div(x, b.add(cosine, 1))), 2), node[0].dtype)


@onnx_op("Acos", since=7)
def acos(node: Node) -> Tensor:
    """2 atan(sqrt((1 - x) / (1 + x)))"""
    b, x = node.build, _wide(node)
    one = b.full((), 1, x.dtype)
    half = b.unary("sqrt", b.div(b.sub(one, x), b.add(one, x)))
    return b.cast(b.mul(arc_tangent(b, half), 2), node[0].dtype)
