"""
Values that are offloaded between two uses (`memory.swap_out`, `memory.compress`). Their uses were planned, so rewrites
must not add readers to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.memory.stash import MoveOp
from ...dialects.memory.stash_check import memory_of, views_of


def is_reduction(op: Operation) -> bool:
    """Whether an operation frees the memory of its operand."""
    return isinstance(op, MoveOp) and not op.RESTORES


def has_reductions(module: ModuleOp) -> bool:
    """Whether any value of a module is offloaded."""
    return any(map(is_reduction, module.walk()))


def is_offloaded(value: SSAValue) -> bool:
    """Whether a value is offloaded anywhere."""
    return any(is_reduction(use.operation) for view in views_of(memory_of(value)) for use in view.uses)


def may_stand_for(value: SSAValue, old: SSAValue) -> bool:
    """
    Whether `value`, which already exists, may replace `old` in all readers, as it is not offloaded or uses the same
    memory.
    """
    return memory_of(value) is memory_of(old) or not (is_offloaded(value) or is_offloaded(old))


class KeepOffloadedValues(RewritePattern):
    """Applies a pattern where it adds no readers to offloaded values."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        careful = _Rewriter(op)
        careful.extend_from_listener(rewriter)
        self.pattern.match_and_rewrite(op, careful)
        rewriter.has_done_action |= careful.has_done_action


class _Rewriter(PatternRewriter):
    """Replaces an operation only by values that `may_stand_for` allows."""

    def replace(
        self,
        op: Operation,
        new_ops: Operation | Sequence[Operation],
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        new = [new_ops] if isinstance(new_ops, Operation) else list(new_ops)
        results = (new[-1].results if new else ()) if new_results is None else new_results
        if _may_replace(op, new, results):
            super().replace(op, new, new_results, safe_erase)
        else:
            for one in reversed(new):
                one.erase()


def _may_replace(op: Operation, new: Sequence[Operation], results: Sequence[SSAValue | None]) -> bool:
    read = {value for one in new for value in one.operands if value.owner not in new} - set(op.operands)
    if any(map(is_offloaded, read)):
        return False
    pairs = zip(op.results, results, strict=True)
    return all(value is None or memory_of(value).owner in new or may_stand_for(value, old) for old, value in pairs)
