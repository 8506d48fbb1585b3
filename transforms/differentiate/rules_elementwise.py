"""Gradients of elementwise operations. If two operands tie in a maximum or minimum, the first one gets the gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.dataflow import elementwise as e
from ...dialects.dataflow.types import element_of, is_float
from .graph import Graph
from .rule import Partial, Rule, Rules


def _pow(op: e.PowOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """a^b: b a^(b - 1), and a^b log(a) (0 where a is not positive)"""

    def exponent() -> SSAValue:
        positive = b.compare(op.lhs, "gt", 0.0)
        log = b.emit(e.LogOp(b.where(positive, op.lhs, 1.0)))
        return b.mul(g, b.mul(op.result, log))

    return [
        lambda: b.mul(g, b.mul(op.rhs, b.emit(e.PowOp(op.lhs, b.sub(op.rhs, 1.0))))),
        exponent,
    ]


def _cast(op: e.CastOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    source = element_of(op.operand)
    return [(lambda: b.cast(g, source)) if is_float(source) and is_float(element_of(op.result)) else None]


def _remainder(op: e.ModOp | e.FmodOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """a - q b with an integer q, which is locally constant where the gradient exists."""
    return [lambda: g, lambda: b.mul(g, b.div(b.sub(op.result, op.lhs), op.rhs))]


def _extremum(wins: str, loses: str) -> Rule:
    """The operand that wins the comparison gets the gradient."""
    return lambda op, g, b: [
        lambda: b.where(b.compare(op.lhs, wins, op.rhs), g, 0.0),
        lambda: b.where(b.compare(op.lhs, loses, op.rhs), g, 0.0),
    ]


RULES: Rules = {
    e.NegOp: lambda op, g, b: [lambda: b.neg(g)],
    e.AbsOp: lambda op, g, b: [lambda: b.mul(g, b.emit(e.SignOp(op.operand)))],
    e.ExpOp: lambda op, g, b: [lambda: b.mul(g, op.result)],
    e.LogOp: lambda op, g, b: [lambda: b.div(g, op.operand)],
    e.SqrtOp: lambda op, g, b: [lambda: b.div(b.mul(g, 0.5), op.result)],
    # y = x^(-1/2), y' = -y^3 / 2
    e.RsqrtOp: lambda op, g, b: [lambda: b.mul(b.mul(g, -0.5), b.mul(op.result, b.mul(op.result, op.result)))],
    e.ReciprocalOp: lambda op, g, b: [lambda: b.neg(b.mul(g, b.mul(op.result, op.result)))],
    e.TanhOp: lambda op, g, b: [lambda: b.mul(g, b.sub(1.0, b.mul(op.result, op.result)))],
    e.SigmoidOp: lambda op, g, b: [lambda: b.mul(g, b.mul(op.result, b.sub(1.0, op.result)))],
    # erf' = 2 / sqrt(pi) exp(-x^2)
    e.ErfOp: lambda op, g, b: [
        lambda: b.mul(g, b.mul(b.emit(e.ExpOp(b.neg(b.mul(op.operand, op.operand)))), 2 / math.sqrt(math.pi)))
    ],
    e.SinOp: lambda op, g, b: [lambda: b.mul(g, b.emit(e.CosOp(op.operand)))],
    e.CosOp: lambda op, g, b: [lambda: b.neg(b.mul(g, b.emit(e.SinOp(op.operand))))],
    e.ReluOp: lambda op, g, b: [lambda: b.where(b.compare(op.operand, "gt", 0.0), g, 0.0)],
    e.CastOp: _cast,
    e.AddOp: lambda op, g, b: [lambda: g, lambda: g],
    e.SubOp: lambda op, g, b: [lambda: g, lambda: b.neg(g)],
    e.MulOp: lambda op, g, b: [lambda: b.mul(g, op.rhs), lambda: b.mul(g, op.lhs)],
    e.DivOp: lambda op, g, b: [lambda: b.div(g, op.rhs), lambda: b.neg(b.div(b.mul(g, op.result), op.rhs))],
    e.PowOp: _pow,
    e.ModOp: _remainder,
    e.FmodOp: _remainder,
    e.MaximumOp: _extremum("ge", "lt"),
    e.MinimumOp: _extremum("le", "gt"),
    e.SelectOp: lambda op, g, b: [
        None,
        lambda: b.where(op.condition, g, 0.0),
        lambda: b.where(op.condition, 0.0, g),
    ],
    # Piecewise constant functions, or functions of integers and masks.
    e.ElementwiseOp: lambda op, g, b: [None] * len(op.operands),
}
"""Rules by class of operation; that of `ElementwiseOp` applies to all that are not listed."""
