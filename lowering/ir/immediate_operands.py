"""The constants that instructions hold as immediates instead of reading them from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue, Use

from ...dialects.coreasm.immediates import fits_immediate
from ...dialects.dataflow import ConstantOp, ElementwiseOp, WeightOp
from ...dialects.dataflow.constants import element_number, elements_of, splat_bits
from ...dialects.dataflow.types import dtype_code


def is_immediate(value: SSAValue, uses: Iterable[Use]) -> bool:
    """
    Whether a value is a constant of equal elements that each of these uses can hold as an immediate. An elementwise
    operation of constants only reads them from memory.
    """
    uses = list(uses)
    if not uses or not all(map(_takes_immediate, uses)):
        return False
    op = value.owner
    if not isinstance(op, ConstantOp) or splat_bits(elements_of(op)) is None:
        return False
    return fits_immediate(element_number(op), dtype_code(value))


def reads_from_memory(
    op: Operation, reads: Callable[[Operation], bool] = lambda user: True
) -> TypeGuard[ConstantOp | WeightOp]:
    """Whether an operation is a constant or weight that its users (those for which `reads` holds) read from memory."""
    if not isinstance(op, ConstantOp | WeightOp):
        return False
    return not is_immediate(op.results[0], (use for use in op.results[0].uses if reads(use.operation)))


def _takes_immediate(use: Use) -> bool:
    op = use.operation
    return (
        isinstance(op, ElementwiseOp)
        and op.takes_immediate(use.index)
        and not all(isinstance(operand.owner, ConstantOp) for operand in op.operands)
    )
