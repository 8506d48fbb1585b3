"""Canonicalisation patterns that remove conversions to dense tensors and back."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from .compute import ConvOp, MatmulOp
from .ops import DecodeOp, EncodeOp
from .types import index_of


class EncodeOfDecodedOfEncoded(RewritePattern):
    """encode(decode(encode(x, a)), b) == encode(x, b) if b stores no element that a does not store"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EncodeOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.operand.owner, DecodeOp) or not isinstance(inner.operand.owner, EncodeOp):
            return
        first, second = index_of(inner.operand.type), index_of(op.result.type)
        assert first is not None
        assert second is not None
        # Groups of the second encoding also store elements below the threshold, which the first one would have set to
        # zero.
        if second.format.group == 1 and second.threshold >= first.threshold:
            expected = None if op.nonzero is None else op.expected
            width = None if op.width is None else op.width.value.data
            rewriter.replace(op, EncodeOp(inner.operand.owner.operand, second, expected, width))


class ComputeOnDecoded(RewritePattern):
    """matmul(decode(x), w) == matmul(x, w), and conv likewise: the operation reads encoded operands"""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter) -> None:
        for position, value in enumerate(op.operands):
            if isinstance(value.owner, DecodeOp):
                op.operands[position] = value.owner.operand
                rewriter.notify_op_modified(op)
