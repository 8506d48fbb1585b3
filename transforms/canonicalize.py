"""
Pass `canonicalize`: as xDSL's pass, but new operations get the location of those that they replace, operations in
bodies of tasks are not rewritten (see `scheduled_bodies`), and offloaded values get no further readers (see
`offloaded_values`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
from xdsl.transforms import canonicalize
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern
from xdsl.transforms.dead_code_elimination import region_dce

from ..dialects.locations import KeepLocations
from .shared.offloaded_values import KeepOffloadedValues, has_reductions
from .shared.scheduled_bodies import KeepTaskBodies


class CanonicalizePass(canonicalize.CanonicalizePass):
    """Fold, and apply all canonicalization patterns, until nothing changes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        greedy = GreedyRewritePatternApplier([CanonicalizationRewritePattern()], ctx=ctx, folding_enabled=True)
        pattern = KeepTaskBodies(KeepLocations(greedy))
        if has_reductions(op):
            pattern = KeepOffloadedValues(pattern)
        PatternRewriteWalker(pattern, post_walk_func=region_dce).rewrite_module(op)
