"""
A pass on operators that replaces x / sqrt(y) by x * rsqrt(y). Divisions and roots take four times as long as
multiplications.

    meshloom-compile net.onnx --chip edge --load-pass-plugin examples/divide_by_root.py -p divide-by-root -o net.mlx
"""

from __future__ import annotations

from typing import ClassVar

from meshloom.analysis.semantic_effect import SemanticEffect, reassociating
from meshloom.dialects.dataflow import DivOp, MulOp, RsqrtOp, SqrtOp
from meshloom.dialects.locations import KeepLocations
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern


class DivideByRoot(RewritePattern):
    """x / sqrt(y) == x * rsqrt(y), except for rounding. A root with other readers is kept."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivOp, rewriter: PatternRewriter) -> None:
        root = op.rhs.owner
        if isinstance(root, SqrtOp) and root.result.has_one_use():
            inverse = RsqrtOp(root.operand)
            rewriter.replace(op, [inverse, MulOp(op.lhs, inverse.result)])
            rewriter.erase(root)


class DivideByRootPass(ModulePass):
    """Multiplies by inverse roots instead of dividing by roots."""

    name = "divide-by-root"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-6)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all divisions."""
        PatternRewriteWalker(KeepLocations(DivideByRoot())).rewrite_module(op)
