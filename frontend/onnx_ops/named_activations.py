"""Activation functions that an attribute of a recurrent or fused operator names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..builder import Builder
from ..node import Node
from ..tensors import NodeError, Tensor, known
from .activation import elu, hard_sigmoid, leaky, softplus

Activation: TypeAlias = Callable[[Tensor], Tensor]

ALPHAS = ("affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu")
"""The functions with a parameter alpha."""
BETAS = ("affine", "scaledtanh", "hardsigmoid")
"""The functions with a parameter beta."""


def named_activations(b: Builder, node: Node, names: Sequence[str], clips: Sequence[float | None]) -> list[Activation]:
    """
    The functions of a recurrent layer, each with the limit at its position in `clips` (repeated for each direction).

    Functions take the elements of `activation_alpha` and `activation_beta` in their order; one without such a parameter
    takes none, and those after the last element have ONNX's default.
    """
    alphas, betas = iter(node.floats("activation_alpha", [])), iter(node.floats("activation_beta", []))
    return [
        named_activation(
            b,
            name,
            next(alphas, None) if name.lower() in ALPHAS else None,
            next(betas, None) if name.lower() in BETAS else None,
            clips[index % len(clips)],
        )
        for index, name in enumerate(names)
    ]


def named_activation(
    b: Builder, name: str, alpha: float | None = None, beta: float | None = None, clip: float | None = None
) -> Activation:
    """
    The function with this name in ONNX, regardless of case; `alpha` and `beta` of None mean ONNX's defaults.

    With `clip`, the operand is first clipped to [-clip, clip]. Raises NodeError for an unknown name.
    """

    def default(value: float | None, otherwise: float) -> float:
        return otherwise if value is None else value

    functions: dict[str, Activation] = {
        "sigmoid": lambda x: b.unary("sigmoid", x),
        "tanh": lambda x: b.unary("tanh", x),
        "relu": lambda x: b.unary("relu", x),
        "affine": lambda x: b.add(b.mul(x, default(alpha, 1.0)), default(beta, 0.0)),
        "leakyrelu": lambda x: leaky(b, x, known(default(alpha, 0.01), x.dtype)),
        "thresholdedrelu": lambda x: b.select(b.compare("gt", x, default(alpha, 1.0)), x, 0),
        "scaledtanh": lambda x: b.mul(b.unary("tanh", b.mul(x, default(beta, 1.0))), default(alpha, 1.0)),
        "hardsigmoid": lambda x: hard_sigmoid(b, x, default(alpha, 0.2), default(beta, 0.5)),
        "elu": lambda x: elu(b, x, default(alpha, 1.0)),
        "softsign": lambda x: b.div(x, b.add(b.unary("abs", x), 1)),
        "softplus": lambda x: softplus(b, x),
    }
    function = functions.get(name.lower())
    if function is None:
        raise NodeError(f"activation {name!r} is unknown")
    if clip is None:
        return function
    return lambda x: function(b.maximum(b.minimum(x, clip), -clip))
