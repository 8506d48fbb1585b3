"""Affine functions: chains of additions and multiplications by constants, as one multiplication and one addition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dataflow import AddOp, DivOp, MulOp, NegOp, SubOp
from ...dialects.dataflow.types import element_of, is_float
from .constants import DIGITS, SMALLEST_NORMAL, Doubles, constant_doubles, is_constant, largest_finite


@dataclass(frozen=True)
class Affine:
    """x -> x * scale + offset; None is 1 and 0. The arrays broadcast to x's shape."""

    scale: Doubles | None = None
    offset: Doubles | None = None

    def then(self, after: Affine) -> Affine:
        """The composition: this function first, then `after`."""
        scale, offset = self.scale, self.offset
        if after.scale is not None:
            scale = after.scale if scale is None else scale * after.scale
            offset = None if offset is None else offset * after.scale
        if after.offset is not None:
            offset = after.offset if offset is None else offset + after.offset
        return Affine(scale, offset)

    def simplified(self) -> Affine:
        """The function with a scale of ones and an offset of zeros dropped."""
        scale = None if self.scale is not None and bool((self.scale == 1).all()) else self.scale
        offset = None if self.offset is not None and not self.offset.any() else self.offset
        return Affine(scale, offset)

    @property
    def parts(self) -> tuple[Doubles, ...]:
        """The arrays that are not None."""
        return tuple(part for part in (self.scale, self.offset) if part is not None)


def affine_operand(op: Operation) -> SSAValue | None:
    """
    The operand x, if the operation may be x -> x * scale + offset on floats with constants, else None; reads no data.
    """
    match op:
        case NegOp():
            x = op.operand
        case AddOp() | SubOp() | MulOp():
            x = op.rhs if is_constant(op.lhs) else op.lhs
            if not is_constant(op.rhs) and not is_constant(op.lhs):
                return None
        case DivOp():
            x = op.lhs
            if not is_constant(op.rhs):
                return None
        case _:
            return None
    same = x.type == op.results[0].type  # else the constant operand makes the result larger
    return x if same and not is_constant(x) and is_float(element_of(x)) else None


def affine_of(op: Operation) -> Affine | None:
    """The affine function of an operation on its `affine_operand`; None if numbers of the type cannot represent it."""
    if isinstance(op, NegOp):
        return Affine(scale=np.full((), -1.0))
    if (x := affine_operand(op)) is None:
        return None
    other = op.operands[1] if op.operands[0] == x else op.operands[0]
    known = constant_doubles(other)
    if known is None or not bool(np.isfinite(known).all()):
        return None
    match op:
        case AddOp():
            step = Affine(offset=known)
        case SubOp():
            step = Affine(offset=-known) if op.lhs == x else Affine(np.full((), -1.0), known)
        case MulOp():
            step = Affine(scale=known)
        case _:
            if not known.all():
                return None
            step = Affine(scale=1 / known)
    return step if fits(step, element_of(x)) else None


def joined(first: Affine, then: Affine, element: Attribute) -> Affine | None:
    """The composition of both; None if that would lose digits, need larger tables, or undo an intended rounding."""
    if first.offset is not None and then.offset is not None:
        moved = first.offset if then.scale is None else first.offset * then.scale
        if _cancels(moved, then.offset, element):
            return None
    both = first.then(then)
    largest = max((part.size for part in (*first.parts, *then.parts)), default=0)
    return both if fits(both, element) and all(part.size <= largest for part in both.parts) else None


def fits(function: Affine, element: Attribute) -> bool:
    """
    Whether the type represents all numbers, those of the scale as normal numbers (small offsets may be subnormal).
    """
    within = all(bool((np.abs(part) <= largest_finite(element)).all()) for part in function.parts)
    if not within or function.scale is None:
        return within
    return bool(((function.scale == 0) | (np.abs(function.scale) >= SMALLEST_NORMAL[str(element)])).all())


def _cancels(a: Doubles, b: Doubles, element: Attribute) -> bool:
    """Whether a + b nearly vanishes anywhere: adding and subtracting a large number is a way to round."""
    size = np.maximum(np.abs(a), np.abs(b))
    return bool((np.abs(a + b) <= size * 2.0 ** (4 - DIGITS[str(element)])).all() and size.any())
