"""Canonicalisation of subgraphs: no unnecessary operands and results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ..dataflow.sources import ConstantOp, WeightOp
from .bodies import YieldOp
from .drop_operands import drop_operands
from .subgraph import SubgraphOp


def _rebuild(
    op: SubgraphOp,
    operands: Sequence[SSAValue],
    replacements: Sequence[SSAValue | int | None],
    rewriter: PatternRewriter,
) -> None:
    """
    Replace a subgraph by one with these operands. `replacements` has, for each old result, the value that replaces it,
    the number of the old result that replaces it, or None if it has no uses. Results that are replaced by themselves
    stay.
    """
    kept = [number for number, position in enumerate(replacements) if position == number]
    last = op.body.block.last_op
    assert last is not None
    if len(kept) != len(op.outputs):
        rewriter.replace(last, YieldOp(*(last.operands[number] for number in kept)))
    new = SubgraphOp(
        op.sym_name.data, operands, [op.outputs[number].type for number in kept], op.detach_region(op.body)
    )
    new.attributes.update(op.attributes)
    new.properties.update(op.properties)
    if op.residence is not None:
        new.residence = ArrayAttr([op.residence.data[number] for number in kept])
    for number, result in zip(kept, new.outputs, strict=True):
        result.name_hint = op.outputs[number].name_hint
    by_number = dict(zip(kept, new.outputs, strict=True))
    rewriter.replace(
        op, new, [by_number[position] if isinstance(position, int) else position for position in replacements]
    )


class TidyOperands(RewritePattern):
    """Removes unused and duplicate operands, and moves constants and weights into the body."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubgraphOp, rewriter: PatternRewriter) -> None:
        block = op.body.block
        for value, argument in zip(op.inputs, block.args, strict=True):
            if argument.first_use is not None and isinstance(value.owner, ConstantOp | WeightOp):
                source = value.owner.clone()
                source.results[0].name_hint = value.name_hint
                rewriter.insert(source, InsertPoint.at_start(block))
                rewriter.replace_all_uses_with(argument, source.results[0])
        if (operands := drop_operands(block, op.inputs, rewriter)) is not None:
            _rebuild(op, operands, range(len(op.outputs)), rewriter)


class TidyResults(RewritePattern):
    """
    Removes results that are unused, equal to another result, an operand, or a constant or weight, which moves outside:
    no instruction writes those. (A subgraph without used results is erased as dead code.)
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubgraphOp, rewriter: PatternRewriter) -> None:
        if all(value.first_use is None for value in op.outputs):
            return
        replacements: list[SSAValue | int | None] = []
        first: dict[SSAValue, int] = {}
        for number, (value, result) in enumerate(zip(op.yielded, op.outputs, strict=True)):
            if result.first_use is None:
                replacements.append(None)
            elif isinstance(value, BlockArgument):
                replacements.append(op.inputs[value.index])
            elif isinstance(source := value.owner, ConstantOp | WeightOp):
                outside = rewriter.insert(source.clone(), InsertPoint.before(op))
                outside.results[0].name_hint = result.name_hint
                replacements.append(outside.results[0])
            else:
                replacements.append(first.setdefault(value, number))
        if replacements != list(range(len(op.outputs))):
            _rebuild(op, list(op.inputs), replacements, rewriter)


PATTERNS: tuple[RewritePattern, ...] = (TidyOperands(), TidyResults())
