"""A pass on operators that replaces a pattern by the new operation."""

from __future__ import annotations

from typing import ClassVar

from meshloom.analysis.semantic_effect import EXACT, SemanticEffect
from meshloom.dialects.dataflow import ConstantOp, MaximumOp, MinimumOp
from meshloom.dialects.dataflow.constants import array_of
from meshloom.dialects.locations import KeepLocations
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from .operations import ClampOp


class FindSaturation(RewritePattern):
    """min(max(x, low), high) == clamp(x) for known numbers low <= high, of f32."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MinimumOp, rewriter: PatternRewriter) -> None:
        inner = op.lhs.owner
        if not isinstance(inner, MaximumOp) or inner.lhs.type != op.result.type or not inner.result.has_one_use():
            return
        low, high = number(inner.rhs), number(op.rhs)
        if low is not None and high is not None and low <= high:
            rewriter.replace(op, ClampOp(inner.lhs, low, high))
            rewriter.erase(inner)


def number(value: SSAValue) -> float | None:
    """The value of all elements of an f32 constant; None if they differ, and for other values."""
    if not isinstance(value.owner, ConstantOp):
        return None
    constant = value.owner.value
    if constant.get_element_type() != f32 or not constant.is_splat():
        return None
    return float(array_of(constant).flat[0])


class FindSaturationPass(ModulePass):
    """Replace a minimum and a maximum with known bounds by one operation."""

    name = "find-saturation"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all occurrences of the pattern."""
        PatternRewriteWalker(KeepLocations(FindSaturation())).rewrite_module(op)
