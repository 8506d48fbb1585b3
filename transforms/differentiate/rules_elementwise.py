"""Gradients of elementwise operations. Where two operands tie in a maximum or minimum, the first one has it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.dataflow import elementwise as e
from ...dialects.dataflow.types import element_of, is_float
from .graph import Graph
from .rule import Partial, Rules


def _none(op: e.ElementwiseOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [None] * len(op.operands)


def _abs(op: e.AbsOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, b.emit(e.SignOp(op.operand)))]


def _neg(op: e.NegOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.neg(g)]


def _exp(op: e.ExpOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, op.result)]


def _log(op: e.LogOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.div(g, op.operand)]


def _sqrt(op: e.SqrtOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.div(b.mul(g, 0.5), op.result)]


def _rsqrt(op: e.RsqrtOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """y = x^(-1/2), y' = -y^3 / 2"""
    return [lambda: b.mul(b.mul(g, -0.5), b.mul(op.result, b.mul(op.result, op.result)))]


def _reciprocal(op: e.ReciprocalOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.neg(b.mul(g, b.mul(op.result, op.result)))]


def _tanh(op: e.TanhOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, b.sub(1.0, b.mul(op.result, op.result)))]


def _sigmoid(op: e.SigmoidOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, b.mul(op.result, b.sub(1.0, op.result)))]


def _erf(op: e.ErfOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """erf' = 2 / sqrt(pi) exp(-x^2)"""

    def partial() -> SSAValue:
        bell = b.emit(e.ExpOp(b.neg(b.mul(op.operand, op.operand))))
        return b.mul(g, b.mul(bell, 2 / math.sqrt(math.pi)))

    return [partial]


def _sin(op: e.SinOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, b.emit(e.CosOp(op.operand)))]


def _cos(op: e.CosOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.neg(b.mul(g, b.emit(e.SinOp(op.operand))))]


def _relu(op: e.ReluOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.where(b.compare(op.operand, "gt", 0.0), g, 0.0)]


def _cast(op: e.CastOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    source = element_of(op.operand)
    return [(lambda: b.cast(g, source)) if is_float(source) and is_float(element_of(op.result)) else None]


def _add(op: e.AddOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: g, lambda: g]


def _sub(op: e.SubOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: g, lambda: b.neg(g)]


def _mul(op: e.MulOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.mul(g, op.rhs), lambda: b.mul(g, op.lhs)]


def _div(op: e.DivOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [lambda: b.div(g, op.rhs), lambda: b.neg(b.div(b.mul(g, op.result), op.rhs))]


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


def _remainder(op: e.ModOp | e.FmodOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    """a - q b with a whole number q, which does not change where the gradient exists."""
    return [lambda: g, lambda: b.mul(g, b.div(b.sub(op.result, op.lhs), op.rhs))]


def _extremum(op: e.MaximumOp | e.MinimumOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    wins, loses = ("ge", "lt") if isinstance(op, e.MaximumOp) else ("le", "gt")
    return [
        lambda: b.where(b.compare(op.lhs, wins, op.rhs), g, 0.0),
        lambda: b.where(b.compare(op.lhs, loses, op.rhs), g, 0.0),
    ]


def _select(op: e.SelectOp, g: SSAValue, b: Graph) -> Sequence[Partial]:
    return [None, lambda: b.where(op.condition, g, 0.0), lambda: b.where(op.condition, 0.0, g)]


RULES: Rules = {
    e.NegOp: _neg,
    e.AbsOp: _abs,
    e.ExpOp: _exp,
    e.LogOp: _log,
    e.SqrtOp: _sqrt,
    e.RsqrtOp: _rsqrt,
    e.ReciprocalOp: _reciprocal,
    e.TanhOp: _tanh,
    e.SigmoidOp: _sigmoid,
    e.ErfOp: _erf,
    e.SinOp: _sin,
    e.CosOp: _cos,
    e.ReluOp: _relu,
    e.CastOp: _cast,
    e.AddOp: _add,
    e.SubOp: _sub,
    e.MulOp: _mul,
    e.DivOp: _div,
    e.PowOp: _pow,
    e.ModOp: _remainder,
    e.FmodOp: _remainder,
    e.MaximumOp: _extremum,
    e.MinimumOp: _extremum,
    e.SelectOp: _select,
    # Constant between their steps, or of integers and masks.
    e.ElementwiseOp: _none,
}
"""By class; `ElementwiseOp` stands for all that are not listed."""
