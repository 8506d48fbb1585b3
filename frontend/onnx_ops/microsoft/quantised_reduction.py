"""Softmax and averages of quantised values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...node import Node
from ...tensors import FLOAT32, Tensor
from ..activation import softmax
from ..pooling import average, pooling_window, window_counts
from . import microsoft_op
from .quantisation import exact_sum, offset, rounded, scalar, scale_of


@microsoft_op("QLinearSoftmax")
def quantised_softmax(node: Node) -> Tensor:
    """Softmax of quantised values, quantised; over one axis, or if `opset` is below 13 over this and all later axes."""
    b, x = node.build, node[0]
    old = node.int("opset") < 13
    axis = x.axis(node.int("axis", -1))
    # Softmax subtracts the maximum, which cancels the zero point.
    shares = softmax(b, b.mul(b.cast(x, FLOAT32), scale_of(node, 1)), list(range(axis, x.rank)) if old else [axis])
    # As in ONNX Runtime, a share of 1 is a whole number of steps of the result's scale.
    steps = b.unary("floor", b.unary("reciprocal", scale_of(node, 3)))
    return rounded(b, b.mul(shares, steps), scalar(node, 4), x.dtype)


@microsoft_op("QLinearGlobalAveragePool")
def quantised_global_average_pool(node: Node) -> Tensor:
    """Mean of quantised values over all spatial dimensions, quantised; channels are the second or last dimension."""
    return _channels_second(node, _global_average)


def _global_average(node: Node, x: Tensor) -> Tensor:
    b, zero = node.build, scalar(node, 2)
    count = math.prod(x.shape[2:])
    total = exact_sum(b, x, list(range(2, x.rank)))
    if zero is not None:
        total = b.sub(total, b.mul(b.cast(zero, FLOAT32), count))
    factor = b.div(scale_of(node, 1), b.mul(scale_of(node, 3), count))
    return rounded(b, b.mul(total, factor), scalar(node, 4), x.dtype)


@microsoft_op("QLinearAveragePool")
def quantised_average_pool(node: Node) -> Tensor:
    """Mean of quantised values in each window, with or without the padding, quantised."""
    return _channels_second(node, _average)


def _average(node: Node, x: Tensor) -> Tensor:
    b = node.build
    window, high = pooling_window(node, x)
    # If padding is included, a window counts all of its elements, also those beyond the padding.
    whole = bool(node.int("count_include_pad", 0))
    counts = np.asarray(math.prod(window.sizes)) if whole else window_counts(x.shape[2:], window, high, False)
    # Sums of integers are exact, so the mean, in steps from the zero point, is rounded once.
    steps = average(b, offset(b, x, scalar(node, 2)), window, high, counts)
    return rounded(b, b.mul(steps, b.div(scale_of(node, 1), scale_of(node, 3))), scalar(node, 4), x.dtype)


def _channels_second(node: Node, function: Callable[[Node, Tensor], Tensor]) -> Tensor:
    """Apply a function on [N, C, S...] to an operand that is [N, S..., C] if the node's attribute says so."""
    b, x = node.build, node[0]
    if not node.int("channels_last", 0):
        return function(node, x)
    inward = [0, x.rank - 1, *range(1, x.rank - 1)]
    result = function(node, b.transpose(x, inward))
    return b.transpose(result, [int(axis) for axis in np.argsort(inward)])
