"""Exact convolutions of quantised operands, with parameters from a node's attributes."""

from __future__ import annotations

from .. import integer_products
from ..integer_products import INT32, Centred, centred, integer_matmul
from ..node import Node
from ..tensors import Tensor
from .convolution import check_spatial
from .spatial import window_of

__all__ = ["INT32", "Centred", "centred", "integer_conv", "integer_matmul"]


def integer_conv(node: Node, x: Centred, w: Centred) -> Tensor:
    """The convolution that a node's attributes describe, in int32."""
    check_spatial(x.values)
    window = window_of(node, x.values.shape[2:], list(w.values.shape[2:]))
    return integer_products.integer_conv(node.build, x, w, window, node.int("group", 1))
