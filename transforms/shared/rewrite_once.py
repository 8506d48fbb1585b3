"""
Pattern application in one walk over the existing operations, each of which is rewritten at most once.

xDSL's `PatternRewriteWalker` does more than such passes need: it tries every pattern on every
operation, revisits changed operations, and adds the text of the whole module to errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...dialects.locations import at

Patterns: TypeAlias = Mapping[type[Operation], Sequence[RewritePattern]]
"""The patterns for each class of operations; they are tried in order until one changes something."""


def after_value(value: SSAValue) -> InsertPoint:
    """The insertion point directly after a value's definition."""
    owner = value.owner
    return InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)


def erase_unread(value: SSAValue) -> None:
    """
    Erase the operation that defines a value without readers, and operations whose results only this operation read.
    """
    op = value.owner
    if isinstance(op, Operation) and is_trivially_dead(op):
        operands = list(op.operands)
        Rewriter.erase_op(op)
        for operand in operands:
            erase_unread(operand)


def rewrite_once(root: Operation, patterns: Patterns) -> None:
    """
    Apply patterns to the operations in `root`, in order; operations in regions come after the operation that contains
    them.

    Operations that patterns build get the location of the operation that is rewritten, and are not rewritten
    themselves; nor are those that were erased before their turn. Raises the errors of patterns, located at the
    operation.
    """
    ops = [op for op in root.walk() if type(op) in patterns]
    if not ops:
        return
    rewriter = PatternRewriter(ops[0])
    for op in ops:
        if op.parent is None:
            continue
        rewriter.insertion_point, rewriter.has_done_action = InsertPoint.before(op), False
        with at(op):
            for pattern in patterns[type(op)]:
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    break
