"""Bodies of tasks over buffers: lists beside them say where each of their operations reads and writes."""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ..dialects.manycore import ExecuteOp


def is_written_body(block: Block | None) -> bool:
    """Whether operations of a block cannot be changed one by one."""
    op = block.parent_op() if block is not None else None
    return isinstance(op, ExecuteOp) and op.body.block is block


class KeepWrittenBodies(RewritePattern):
    """Apply a pattern, but not to operations of such a body."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        if not is_written_body(op.parent):
            self.pattern.match_and_rewrite(op, rewriter)
