"""Loss functions of training graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import arrays
from ..node import Node
from ..registry import onnx_op
from ..tensors import INT64, Tensor, known
from .activation import softmax


@onnx_op("NegativeLogLikelihoodLoss", since=12)
def negative_log_likelihood(node: Node) -> Tensor:
    """-x[n, target[n]], weighted by class; reduced to the mean or the sum, or not reduced."""
    return _loss(node, node[0])


@onnx_op("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy(node: Node) -> Sequence[Tensor]:
    """NegativeLogLikelihoodLoss of the logarithm of softmax; the second output is that logarithm."""
    scores = softmax(node.build, node[0], [1], log=True)
    return [_loss(node, scores), scores]


def _loss(node: Node, scores: Tensor) -> Tensor:
    b, target, weights = node.build, node.build.cast(node[1], INT64), node.get(2)
    classes = scores.shape[1]
    positions = known(arrays.arange(classes).reshape(1, -1, *[1] * (scores.rank - 2)))
    hit = b.compare("eq", b.reshape(target, [target.shape[0], 1, *target.shape[1:]]), positions)
    zero = b.full((), 0, scores.dtype)
    picked = b.reduce("sum", b.select(hit, b.unary("neg", scores), zero), [1], keepdims=False)
    factor: Tensor | None = None
    if weights is not None:
        shaped = b.reshape(weights, [1, classes, *[1] * (scores.rank - 2)])
        factor = b.reduce("sum", b.select(hit, shaped, zero), [1], keepdims=False)
    if node.has("ignore_index"):
        kept = b.compare("ne", target, node.int("ignore_index"))
        ones = b.full((), 1, scores.dtype)
        factor = b.select(kept, ones if factor is None else factor, zero)
    if factor is not None:
        picked = b.mul(picked, factor)
    axes = list(range(picked.rank))
    match node.str("reduction", "mean"):
        case "none":
            return picked
        case "sum":
            return b.reduce("sum", picked, axes, keepdims=False)
        case _:
            total = b.reduce("sum", picked, axes, keepdims=False)
            if factor is None:
                return b.mul(total, 1 / max(1, math.prod(picked.shape)))
            factor = b.broadcast(factor, picked.shape)
            return b.div(total, b.reduce("sum", factor, axes, keepdims=False))
