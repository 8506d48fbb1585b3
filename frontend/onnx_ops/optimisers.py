"""Optimisers of ONNX's training domain."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import Builder
from ..node import Node
from ..registry import onnx_op
from ..tensors import FLOAT32, NodeError, Tensor

TRAINING = "ai.onnx.preview.training"


def _groups(node: Node, kinds: int) -> list[tuple[Tensor, ...]]:
    """
    The operands that belong to each optimised tensor. The node has first all tensors, then all gradients, then each
    kind of state.
    """
    operands = node.all()[2:]
    count = len(operands) // kinds
    if count * kinds != len(operands):
        raise NodeError(f"{len(operands)} operands are not {kinds} for each tensor")
    return [tuple(operands[kind * count + index] for kind in range(kinds)) for index in range(count)]


def _results(parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    return [tensor for kind in zip(*parts, strict=True) for tensor in kind]


def _regularised(node: Node, x: Tensor, gradient: Tensor) -> Tensor:
    norm = node.float("norm_coefficient", 0.0)
    return node.build.add(gradient, node.build.mul(x, norm)) if norm else gradient


def _scalar(b: Builder, x: Tensor, like: Tensor) -> Tensor:
    return b.reshape(b.cast(x, like.dtype), [])


@onnx_op("Momentum", domain=TRAINING)
def momentum(node: Node) -> Sequence[Tensor]:
    """V = alpha V + beta G, X = X - R V; or Nesterov momentum."""
    b, alpha, beta = node.build, node.float("alpha"), node.float("beta")
    mode = node.str("mode")
    if mode not in ("standard", "nesterov"):
        raise NodeError(f"mode {mode!r} is unknown")
    results: list[tuple[Tensor, ...]] = []
    for x, gradient, velocity in _groups(node, 3):
        gradient = _regularised(node, x, gradient)
        later = b.compare("gt", b.reshape(b.cast(node[1], FLOAT32), []), 0)
        share = b.select(later, b.full((), beta, x.dtype), b.full((), 1, x.dtype))
        velocity = b.add(b.mul(velocity, alpha), b.mul(gradient, share))
        step = velocity if mode == "standard" else b.add(gradient, b.mul(velocity, alpha))
        results.append((b.sub(x, b.mul(step, _scalar(b, node[0], x))), velocity))
    return _results(results)


@onnx_op("Adagrad", domain=TRAINING)
def adagrad(node: Node) -> Sequence[Tensor]:
    """H = H + G^2, X = X - r G / (sqrt(H) + epsilon) with r = R / (1 + T decay)."""
    b, epsilon, decay = node.build, node.float("epsilon", 1e-6), node.float("decay_factor", 0.0)
    results: list[tuple[Tensor, ...]] = []
    for x, gradient, squares in _groups(node, 3):
        gradient = _regularised(node, x, gradient)
        squares = b.add(squares, b.mul(gradient, gradient))
        rate = b.div(_scalar(b, node[0], x), b.add(b.mul(_scalar(b, node[1], x), decay), 1))
        step = b.div(b.mul(gradient, rate), b.add(b.unary("sqrt", squares), epsilon))
        results.append((b.sub(x, step), squares))
    return _results(results)


@onnx_op("Adam", domain=TRAINING)
def adam(node: Node) -> Sequence[Tensor]:
    """V and H are running means of G and G^2; X = X - r V / (sqrt(H) + epsilon), r corrected for the start T > 0."""
    b, epsilon = node.build, node.float("epsilon", 1e-6)
    alpha, beta = node.float("alpha", 0.9), node.float("beta", 0.999)
    after = node.float("norm_coefficient_post", 0.0)
    results: list[tuple[Tensor, ...]] = []
    for x, gradient, mean, squares in _groups(node, 4):
        gradient = _regularised(node, x, gradient)
        mean = b.add(b.mul(mean, alpha), b.mul(gradient, 1 - alpha))
        squares = b.add(b.mul(squares, beta), b.mul(b.mul(gradient, gradient), 1 - beta))
        rate, times, one = _scalar(b, node[0], x), _scalar(b, node[1], x), b.full((), 1, x.dtype)
        left = [b.sub(one, b.binary("pow", b.full((), base, x.dtype), times)) for base in (alpha, beta)]
        corrected = b.div(b.mul(rate, b.unary("sqrt", left[1])), left[0])
        rate = b.select(b.compare("gt", times, 0), corrected, rate)
        moved = b.sub(x, b.div(b.mul(mean, rate), b.add(b.unary("sqrt", squares), epsilon)))
        results.append((b.mul(moved, 1 - after) if after else moved, mean, squares))
    return _results(results)
