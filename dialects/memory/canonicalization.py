"""Canonicalisation of `memory` programs: no unused buffers."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from .ops import AllocOp, FreeOp


class DropUnreadBuffer(RewritePattern):
    """Removes a buffer whose only use is that it is freed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllocOp, rewriter: PatternRewriter) -> None:
        users = list(dict.fromkeys(use.operation for use in op.buffer.uses))
        if not all(isinstance(user, FreeOp) for user in users):
            return
        for user in users:
            rewriter.erase(user)
        rewriter.erase(op)
