"""Reference semantics of elementwise operations, in numpy. Operands are in computing form (bf16 widened to f32)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import bf16
from xdsl.ir import Attribute

from . import elementwise as ew
from .constants import Array, narrow_bf16, numpy_type
from .erf import erf
from .quantize import QuantizeOp


def _is_float(x: Array) -> bool:
    return x.dtype.kind == "f"


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def _divide(a: Array, b: Array) -> Array:
    if _is_float(a):
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "u":
        return quotient
    # floor_divide rounds down; add one where that is below the true quotient.
    inexact = (quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return (quotient + inexact).astype(a.dtype)


def _power(a: Array, b: Array) -> Array:
    if _is_float(a) or b.dtype.kind == "u":
        return np.power(a, b)
    positive = np.power(a, np.maximum(b, 0))
    odd = (b & 1).astype(bool)
    # 1 / a**n truncates to 0 except for a = 1 and a = -1.
    negative = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    return np.where(b >= 0, positive, negative).astype(a.dtype)


UNARY: dict[type[ew.UnaryOp], Callable[[Array], Array]] = {
    ew.NegOp: np.negative,
    ew.AbsOp: np.abs,
    ew.ExpOp: np.exp,
    ew.LogOp: np.log,
    ew.SqrtOp: np.sqrt,
    ew.RsqrtOp: lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    ew.ReciprocalOp: lambda x: (1 / x).astype(x.dtype),
    ew.TanhOp: np.tanh,
    ew.SigmoidOp: _sigmoid,
    ew.ErfOp: lambda x: erf(x).astype(x.dtype),
    ew.FloorOp: np.floor,
    ew.CeilOp: np.ceil,
    ew.RoundOp: np.rint,
    ew.SignOp: np.sign,
    ew.SinOp: np.sin,
    ew.CosOp: np.cos,
    ew.NotOp: np.invert,
    ew.IsNanOp: np.isnan,
    ew.IsInfOp: np.isinf,
    ew.ReluOp: lambda x: np.maximum(x, np.zeros((), x.dtype)),
}

BINARY: dict[type[ew.BinaryOp], Callable[[Array, Array], Array]] = {
    ew.AddOp: np.add,
    ew.SubOp: np.subtract,
    ew.MulOp: np.multiply,
    ew.DivOp: _divide,
    ew.PowOp: _power,
    ew.MaximumOp: np.maximum,
    ew.MinimumOp: np.minimum,
    ew.ModOp: np.mod,
    ew.FmodOp: np.fmod,
    ew.AndOp: np.bitwise_and,
    ew.OrOp: np.bitwise_or,
    ew.XorOp: np.bitwise_xor,
    ew.ShiftLeftOp: np.left_shift,
    ew.ShiftRightOp: np.right_shift,
}

COMPARE: dict[ew.Predicate, Callable[[Array, Array], Array]] = {
    ew.Predicate.EQ: np.equal,
    ew.Predicate.NE: np.not_equal,
    ew.Predicate.LT: np.less,
    ew.Predicate.LE: np.less_equal,
    ew.Predicate.GT: np.greater,
    ew.Predicate.GE: np.greater_equal,
}


def cast_array(x: Array, to: Attribute) -> Array:
    """Convert an array to the storage form of an element type: floats are truncated to integers; i1 is `x != 0`."""
    if to == bf16:
        return narrow_bf16(x.astype(np.float32))
    target = numpy_type(to)
    return np.not_equal(x, 0) if target.kind == "b" else x.astype(target)


def evaluate_elementwise(op: ew.ElementwiseOp, operands: list[Array]) -> Array:
    """The result in computing form. `dataflow.cast` is not among these operations: `cast_array` computes it."""
    match op:
        case ew.UnaryOp():
            return np.asarray(UNARY[type(op)](operands[0]))
        case ew.BinaryOp():
            return np.asarray(BINARY[type(op)](operands[0], operands[1]))
        case ew.CompareOp():
            return np.asarray(COMPARE[op.predicate.data](operands[0], operands[1]))
        case ew.SelectOp():
            return np.where(operands[0], operands[1], operands[2])
        case QuantizeOp():
            return op.evaluate(operands[0], operands[1])
        case _:
            raise NotImplementedError(op.name)
