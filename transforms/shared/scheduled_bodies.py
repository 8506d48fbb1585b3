"""
Bodies of tasks, which must not be rewritten one operation at a time: the attributes of a task over buffers have an
entry for each operation of its body, and the tiling of a task over tensors belongs to the first one.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.dataflow import CastOp
from ...dialects.manycore import ExecuteOp, TaskOp


def is_scheduled_body(block: Block | None) -> bool:
    """Whether operations of a block cannot be changed one by one."""
    op = block.parent_op() if block is not None else None
    return isinstance(op, ExecuteOp) and op.body.block is block


def is_copy(op: Operation) -> bool:
    """Whether an operation is the only one of a task, and its result equals its operand."""
    if not isinstance(op, CastOp) or op.operand.type != op.result.type or not isinstance(op.parent_op(), TaskOp):
        return False
    return op.prev_op is None and op.next_op is not None and op.next_op.next_op is None


class KeepTaskBodies(RewritePattern):
    """Applies a pattern, except to operations of bodies of tasks."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        if not is_scheduled_body(op.parent) and not isinstance(op.parent_op(), TaskOp):
            self.pattern.match_and_rewrite(op, rewriter)
