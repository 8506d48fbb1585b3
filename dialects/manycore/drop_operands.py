"""Removal of the operands that a body does not need, for canonicalisation."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter


def drop_operands(block: Block, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> list[SSAValue] | None:
    """
    Remove the arguments of a body that stand for a duplicate operand or that it does not use. Returns the operands of
    the other arguments; None if all are needed.
    """
    first: dict[SSAValue, SSAValue] = {}
    gone: list[int] = []
    for number, (value, argument) in enumerate(zip(operands, block.args, strict=True)):
        if value in first:
            rewriter.replace_all_uses_with(argument, first[value])
        if argument.first_use is None:
            gone.append(number)
        else:
            first[value] = argument
    for number in reversed(gone):
        block.erase_arg(block.args[number])
    return [value for number, value in enumerate(operands) if number not in gone] if gone else None
