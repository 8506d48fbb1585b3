"""Canonicalisation of tasks: no duplicate or unused operands, no unused results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from .bodies import YieldOp
from .drop_operands import drop_operands
from .ops import TaskOp


def _rebuild(task: TaskOp, operands: Sequence[SSAValue], kept: Sequence[int], rewriter: PatternRewriter) -> None:
    """Replace a task by one with these of its operands, and with the results whose numbers are in `kept`."""
    types = [task.outputs[number].type for number in kept]
    new = TaskOp(task.sym_name.data, operands, types, task.tiling, task.detach_region(task.body))
    new.placement, new.prefetch, new.prefetch_steps = task.placement, task.prefetch, task.prefetch_steps
    staying = {task.inputs[number] for number in task.kept}
    new.set_kept([number for number, value in enumerate(operands) if value in staying])
    new.attributes.update(task.attributes)
    for number, result in zip(kept, new.outputs, strict=True):
        result.name_hint = task.outputs[number].name_hint
    by_number = dict(zip(kept, new.outputs, strict=True))
    rewriter.replace(task, new, [by_number.get(number) for number in range(len(task.outputs))])


class TidyOperands(RewritePattern):
    """Removes operands that the body does not use, and duplicate operands."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TaskOp, rewriter: PatternRewriter) -> None:
        if (operands := drop_operands(op.body.block, op.inputs, rewriter)) is not None:
            _rebuild(op, operands, range(len(op.outputs)), rewriter)


class DropUnusedResults(RewritePattern):
    """Removes unused results (a task without used results is erased as dead code)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TaskOp, rewriter: PatternRewriter) -> None:
        kept = [number for number, value in enumerate(op.outputs) if value.first_use is not None]
        if len(kept) == len(op.outputs) or not kept:
            return
        last = op.body.block.last_op
        assert last is not None
        rewriter.replace(last, YieldOp(*(last.operands[number] for number in kept)))
        _rebuild(op, list(op.inputs), kept, rewriter)


PATTERNS: tuple[RewritePattern, ...] = (TidyOperands(), DropUnusedResults())
