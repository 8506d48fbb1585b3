"""Canonical form of `memory` programs: no copies without effect, no buffers that nobody reads."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from .ops import AllocOp, FreeOp, TransferOp


class DropCopyToItself(RewritePattern):
    """A copy from a buffer to the same buffer changes nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransferOp, rewriter: PatternRewriter) -> None:
        if op.source is op.target:
            rewriter.erase(op)


class DropUnreadBuffer(RewritePattern):
    """A buffer that is only written and freed goes, with what writes and frees it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllocOp, rewriter: PatternRewriter) -> None:
        users = list(dict.fromkeys(use.operation for use in op.buffer.uses))
        for user in users:
            writes = isinstance(user, TransferOp) and user.source is not op.buffer
            if not (writes or isinstance(user, FreeOp)):
                return
        for user in users:
            rewriter.erase(user)
        rewriter.erase(op)
