"""The constants that instructions hold as immediates instead of reading them from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from xdsl.ir import Operation

from ...dialects.coreasm.immediates import fits_immediate
from ...dialects.dataflow import ConstantOp, ElementwiseOp, WeightOp
from ...dialects.dataflow.constants import element_number, elements_of, splat_bits
from ...dialects.dataflow.types import dtype_code

Use: TypeAlias = tuple[Operation, int]
"""An operation that reads a constant, and the number of the operand."""


def uses_by(ops: Iterable[Operation]) -> dict[ConstantOp, list[Use]]:
    """The constants that operations read, or those inside of them, and how."""
    found: dict[ConstantOp, list[Use]] = {}
    for op in (inner for one in ops for inner in (one.walk() if one.regions else (one,))):
        for index, value in enumerate(op.operands):
            if isinstance(value.owner, ConstantOp):
                found.setdefault(value.owner, []).append((op, index))
    return found


def is_immediate(op: ConstantOp, uses: Sequence[Use]) -> bool:
    """
    Whether a constant has equal elements, which each of these uses can hold as an immediate. An elementwise operation
    of constants only reads them from memory.
    """
    if not uses or not all(_takes_immediate(*use) for use in uses) or splat_bits(elements_of(op)) is None:
        return False
    return fits_immediate(element_number(op), dtype_code(op.result))


def read_from_memory(ops: Sequence[Operation]) -> Iterator[ConstantOp | WeightOp]:
    """Those of the operations that are constants and weights which the others read from memory, or do not read."""
    uses = uses_by(ops)
    for op in ops:
        if isinstance(op, WeightOp) or (isinstance(op, ConstantOp) and not is_immediate(op, uses.get(op, ()))):
            yield op


def _takes_immediate(op: Operation, index: int) -> bool:
    return (
        isinstance(op, ElementwiseOp)
        and op.takes_immediate(index)
        and not all(isinstance(operand.owner, ConstantOp) for operand in op.operands)
    )
