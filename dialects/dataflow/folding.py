"""
Folding of operations: an identity is replaced by its operand, an operation on constants by a constant.

Constants are computed by the reference semantics. Results of more than 4096 bytes are not folded, unless all elements
are equal and there are at most `LARGEST_SPLAT` bytes; weights are never folded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from .base import DataflowOp, ints
from .elementwise import BinaryOp, BitcastOp, CastOp, SelectOp
from .movement import BroadcastOp, ConcatOp, PadOp, SliceOp, TransposeOp
from .reduction import ReduceOp, ReduceWindowOp
from .reshape import ReshapeOp
from .sources import LARGEST_CONSTANT, ConstantOp
from .types import element_bytes, element_of, shape_of, tensor_bytes, tensor_of

LARGEST_SPLAT = 1 << 16
"""Bytes of the largest constant with equal elements that folding creates."""
LARGEST_WORK = 1 << 24
"""The largest number of bytes of operands and result for which folding computes the result."""


def fold(op: DataflowOp) -> Sequence[SSAValue | Attribute] | None:
    """The value that an operation folds to: one of its operands or a constant; None if it does not fold."""
    if (same := _identity(op)) is not None and same.type == op.results[0].type:
        return (same,)
    return _constant(op)


def _identity(op: DataflowOp) -> SSAValue | None:
    """The operand that is bit-identical to the result of the operation; None if there is none."""
    match op:
        case CastOp() | BitcastOp() | ReshapeOp() | BroadcastOp():
            return op.operands[0]
        case TransposeOp():
            permutation = ints(op.permutation)
            return op.operand if permutation == tuple(range(len(permutation))) else None
        case SliceOp():
            # A slice with the type of its operand differs from it only if it is reversed.
            backwards = any(
                step < 0 and size > 1 for step, size in zip(ints(op.steps), shape_of(op.result), strict=True)
            )
            return None if backwards else op.operand
        case PadOp():
            return None if any((*ints(op.low), *ints(op.high), *ints(op.interior))) else op.operand
        case ConcatOp():
            present = [value for value in op.inputs if shape_of(value)[op.axis_index]]
            return present[0] if len(present) == 1 else None
        case ReduceOp():
            return op.operand if all(shape_of(op.operand)[axis] == 1 for axis in ints(op.axes)) else None
        case ReduceWindowOp():
            plain = all(size == 1 for size in (*ints(op.window), *ints(op.strides)))
            padded = any((*ints(op.pad_low), *ints(op.pad_high)))
            return op.operand if plain and not padded else None
        case BinaryOp():
            return _neutral(op)
        case SelectOp():
            return _chosen(op)
        case _:
            return None


def _neutral(op: BinaryOp) -> SSAValue | None:
    """
    The operand x, if the other operand is neutral for every x: x + -0.0 (not 0.0, as -0.0 + 0.0 is 0.0), x - 0.0, x *
    1, x / 1.
    """
    from .elementwise import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, SubOp

    match op:
        case MaximumOp() | MinimumOp():
            return op.lhs if op.lhs == op.rhs else None
        case AddOp():
            number, swap = -0.0, True
        case SubOp():
            number, swap = 0.0, False
        case MulOp():
            number, swap = 1.0, True
        case DivOp():
            number, swap = 1.0, False
        case _:
            return None
    if not isinstance(op.rhs.owner, ConstantOp) and not isinstance(op.lhs.owner, ConstantOp):
        return None
    from .constants import is_number

    if is_number(op.rhs, number):
        return op.lhs
    return op.rhs if swap and is_number(op.lhs, number) else None


def _chosen(op: SelectOp) -> SSAValue | None:
    """The operand that a constant condition selects everywhere; None if there is none."""
    if op.on_true == op.on_false:
        return op.on_true
    if not isinstance(op.condition.owner, ConstantOp):
        return None
    from .constants import constant_array

    condition = constant_array(op.condition)
    if condition is None or not condition.size:
        return None
    if condition.all():
        return op.on_true
    return None if condition.any() else op.on_false


def _constant(op: DataflowOp) -> Sequence[Attribute] | None:
    """
    The constant result of an operation on constants; None if an operand is not constant or the result is not folded.
    """
    if not all(isinstance(value.owner, ConstantOp) for value in op.operands):
        return None
    type = tensor_of(op.results[0])
    if tensor_bytes(type) > LARGEST_SPLAT:
        return None
    work = sum(math.prod(shape_of(value)) * element_bytes(element_of(value)) for value in op.operands)
    if work > LARGEST_WORK:
        return None
    from ...support.errors import MeshloomError
    from .constants import attribute_of, constant_array, splat_bits
    from .evaluate import evaluate

    operands = [array for value in op.operands if (array := constant_array(value)) is not None]
    try:
        result = evaluate(op, operands)
    except MeshloomError:
        # For example an index out of range: an error when the program runs, not in the compiler.
        return None
    if tensor_bytes(type) > LARGEST_CONSTANT and splat_bits(result) is None:
        return None
    return (attribute_of(result, type.element_type),)
