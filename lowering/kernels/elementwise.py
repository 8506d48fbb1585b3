"""Elementwise operations: one vector instruction each."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.dataflow.elementwise import CompareOp, ElementwiseOp
from ...dialects.dataflow.tiling import Box
from ..emitter import Emitter, Operand
from ..view import View

_MNEMONICS = {
    "cast": "mov",
    "reciprocal": "rcp",
    "maximum": "max",
    "minimum": "min",
    "shift_left": "shl",
    "shift_right": "shr",
}
"""Instructions named otherwise than the operation."""


def select_elementwise(
    op: ElementwiseOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """Unary, binary and compare operations, cast and select. `out` may be the memory of an operand with its strides."""
    name = op.predicate.data.value if isinstance(op, CompareOp) else op.name.removeprefix("dataflow.")
    name = _MNEMONICS.get(name, name)
    match operands:
        case [a]:
            emitter.unary(name, out, a)
        case [a, b]:
            emitter.binary(name, out, a, b)
        case [a, b, c]:
            emitter.ternary(name, out, a, b, c)
        case _:
            raise ValueError(f"{op.name} has {len(operands)} operands: expected one to three")
