"""The values that an operation reads, including those that the body of a loop reads from outside."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from .loop import LoopOp


def values_read(op: Operation) -> Sequence[SSAValue]:
    """
    The operands of an operation, and other values from outside that a loop's body reads, without duplicates, in order.
    """
    if not isinstance(op, LoopOp):
        return op.operands
    found: dict[SSAValue, None] = dict.fromkeys(op.operands)
    for inner in op.walk():
        if inner is not op:
            found.update((value, None) for value in inner.operands if op.is_outside(value))
    return list(found)
