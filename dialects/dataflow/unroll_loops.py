"""Unrolling of loops to operations for every step, the form in which tiling and placement process them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import Rewriter
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern

from ...support.errors import InputError
from ...support.limits import MOST_UNROLLED
from ..locations import KeepLocations, located
from .dialect import Dataflow
from .loop import LoopOp
from .loop_steps import LoopSteps


def no_loop(loop: LoopOp) -> bool:
    """A predicate for `unroll_loops` that keeps no loop."""
    return False


def unroll_loops(root: Operation, stays: Callable[[LoopOp], bool] = no_loop) -> None:
    """
    Bring all loops in an operation into canonical form, and unroll them, except those for which `stays` returns true.

    Raises InputError, with its location, for a body that would be copied more than `MOST_UNROLLED` times, and for a
    loop whose number of steps is known at run time only.
    """
    if not any(isinstance(op, LoopOp) for op in root.walk()):
        return
    canonicalize_loops(root)
    copies: dict[Operation | None, int] = {}
    loops = [op for op in root.walk() if isinstance(op, LoopOp)]
    for loop in reversed(loops):  # inner ones first: an outer one may then stay
        if stays(loop):
            continue
        runs = loop.step_count * copies.get(loop, 1)
        _check_can_unroll(loop, runs)
        outer = loop.parent_op()
        copies[outer] = max(runs, copies.get(outer, 1))
        steps = LoopSteps(loop)
        for _ in range(loop.step_count):
            steps.step()
        results = steps.results()
        Rewriter.replace_op(loop, steps.ops, results)


def canonicalize_loops(root: Operation) -> None:
    """Bring all loops in an operation into canonical form."""
    pattern = GreedyRewritePatternApplier([CanonicalizationRewritePattern()], folding_enabled=True, ctx=_context())
    for region in root.regions:
        PatternRewriteWalker(_InLoops(KeepLocations(pattern))).rewrite_region(region)


def _check_can_unroll(loop: LoopOp, runs: int) -> None:
    """`runs`: the most copies of a loop's body, or of the body of one in it."""
    if runs > MOST_UNROLLED:
        error = InputError(f"the body of a loop runs {runs:,} times, at most {MOST_UNROLLED:,} are supported")
        raise located(error, loop)
    if loop.may_run_all:
        return
    if isinstance(loop.parent_op(), LoopOp):
        reason = "it cannot be executed in another loop"
    else:
        reason = "it cannot be unrolled for --calibrate or passes that cut or encode operations"
    error = InputError(
        f"the number of steps of a loop is known at run time only, so {reason}: give a fixed number with --shape or "
        "--value"
    )
    raise located(error, loop)


class _InLoops(RewritePattern):
    """Applies a pattern to loops and to the operations in them."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        if isinstance(op, LoopOp) or isinstance(op.parent_op(), LoopOp):
            self.pattern.match_and_rewrite(op, rewriter)


def _context() -> Context:
    context = Context()
    context.load_dialect(Dataflow)
    return context
