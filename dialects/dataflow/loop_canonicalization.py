"""Canonicalisation patterns of loops. No bit of a result changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, is_side_effect_free

from .constants import constant_array
from .loop import Along, LoopOp, YieldOp
from .loop_steps import LoopSteps
from .movement import BroadcastOp
from .reshape import ReshapeOp
from .types import shape_of

T = TypeVar("T")


class FewSteps(RewritePattern):
    """Replaces a loop of one step by its body, and a loop without steps by its initial values."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        if op.step_count > 1 or not op.may_run_all:
            return
        steps = LoopSteps(op)
        if op.step_count:
            steps.step()
        results = steps.results()
        rewriter.replace(op, steps.ops, results)


class WholeCount(RewritePattern):
    """Removes a count that is known to equal the largest number of steps."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        known = None if op.count is None else constant_array(op.count)
        if known is not None and (known * op.ending.group == op.step_count).all():
            op.operands = [*op.initial, *op.scanned]
            sizes = [len(op.initial), len(op.scanned), 0]
            op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
            op.masked = op.group = None
            rewriter.notify_op_modified(op)


class InvariantOperations(RewritePattern):
    """Moves operations that read no value of the body before the loop."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        if not op.step_count:
            return
        for inner in list(op.body.block.ops):
            if not inner.has_trait(IsTerminator) and is_side_effect_free(inner) and _reads_only_outside(op, inner):
                inner.detach()
                rewriter.insert(inner, InsertPoint.before(op))


def _reads_only_outside(loop: LoopOp, inner: Operation) -> bool:
    """Whether an operation of the body, with its regions, reads no value that the body defines."""
    values = (value for one in inner.walk() for value in one.operands)
    return all(loop.is_outside(value) or inner.is_ancestor(value.owner) for value in values)


class UnchangedCarried(RewritePattern):
    """Replaces a carried value that no step changes by its initial value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        values = zip(op.carried_arguments, op.initial, op.yielded, op.final, strict=False)
        for argument, before, after, last in values:
            if after in (argument, before):
                for value in (last, argument):
                    _stands_for(before, value, op, rewriter)


def _stands_for(new: SSAValue, old: SSAValue, op: LoopOp, rewriter: PatternRewriter) -> None:
    """Replace all uses of `old`, an argument or result of the loop, by `new`."""
    if old.first_use is not None:
        rewriter.replace_all_uses_with(old, new)
        rewriter.notify_op_modified(op)


class InvariantResults(RewritePattern):
    """
    Replaces results whose yielded value is the same in every step, if all steps run: a carried value by this value, a
    stacked result by its broadcast.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        if not op.step_count or op.ending:
            return
        for value, result in zip(op.yielded, op.final, strict=False):
            if op.is_outside(value):
                _stands_for(value, result, op, rewriter)
        stacked = op.yielded[len(op.initial) :]
        for value, along, result in zip(stacked, op.stacks, op.stacked, strict=True):
            if op.is_outside(value) and result.first_use is not None:
                one = ReshapeOp(value, along.of_all(shape_of(value), 1))
                every = BroadcastOp(one, shape_of(result))
                rewriter.insert((one, every), InsertPoint.before(op))
                _stands_for(every.result, result, op, rewriter)


class ScannedAndStacked(RewritePattern):
    """Replaces a result that stacks a scanned value unchanged by the scanned value, if all steps run."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        if op.ending:
            return
        whole = {
            argument: (value, along)
            for argument, value, along in zip(op.scanned_arguments, op.scanned, op.scans, strict=True)
        }
        stacked = op.yielded[len(op.initial) :]
        for value, along, result in zip(stacked, op.stacks, op.stacked, strict=True):
            found = whole.get(value)  # pyright: ignore[reportArgumentType]
            if found is not None and found[1] == along:
                _stands_for(found[0], result, op, rewriter)


class EqualScanned(RewritePattern):
    """Merges scans of the same value along the same axis and direction."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        first: dict[tuple[SSAValue, Along], SSAValue] = {}
        for argument, value, along in zip(op.scanned_arguments, op.scanned, op.scans, strict=True):
            kept = first.setdefault((value, along), argument)
            if kept is not argument:
                _stands_for(kept, argument, op, rewriter)


class EqualYielded(RewritePattern):
    """Merges results that stack the same value along the same axis and direction."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        first: dict[tuple[SSAValue, Along], SSAValue] = {}
        for value, along, result in zip(op.yielded[len(op.initial) :], op.stacks, op.stacked, strict=True):
            kept = first.setdefault((value, along), result)
            if kept is not result:
                _stands_for(kept, result, op, rewriter)


class UnreadValues(RewritePattern):
    """Removes unused results, and carried and scanned values on which no other result depends."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LoopOp, rewriter: PatternRewriter) -> None:
        needed = _needed(op)
        carried = [
            argument in needed or result.first_use is not None
            for argument, result in zip(op.carried_arguments, op.final, strict=True)
        ]
        scanned = [argument in needed for argument in op.scanned_arguments]
        stacked = [result.first_use is not None for result in op.stacked]
        kept = [*carried, *stacked]
        if all(kept) and all(scanned):
            return
        last = op.body.block.last_op
        assert last is not None
        yielded = [value for value, keep in zip(op.yielded, kept, strict=True) if keep]
        last.operands = [*yielded, *(() if op.going is None else (op.going,))]
        _erase_unread(op, rewriter)
        for argument, keep in list(zip(op.body.block.args, [*carried, *scanned], strict=True))[::-1]:
            if not keep:
                op.body.block.erase_arg(argument)
        loop = LoopOp(
            op.step_count,
            _kept(list(op.initial), carried),
            _kept(list(zip(op.scanned, op.scans, strict=True)), scanned),
            _kept(op.stacks, stacked),
            op.detach_region(op.body),
            op.ending,
        )
        loop.attributes.update(op.attributes)
        rest = iter(loop.outputs)
        rewriter.replace(op, loop, [next(rest) if keep else None for keep in kept])


def _needed(op: LoopOp) -> set[SSAValue]:
    """The values of the body on which a used result depends, through any number of steps."""
    yielded, count = op.yielded, len(op.initial)
    needed: set[SSAValue] = set()
    waiting = [value for value, result in zip(yielded, op.outputs, strict=True) if result.first_use is not None]
    waiting += [] if op.going is None else [op.going]
    next_step = dict(zip(op.carried_arguments, yielded[:count], strict=True))
    while waiting:
        value = waiting.pop()
        if value in needed or op.is_outside(value):
            continue
        needed.add(value)
        if value in next_step:
            waiting.append(next_step[value])  # pyright: ignore[reportArgumentType]
        owner = value.owner
        if isinstance(owner, Operation):
            waiting += [one for inner in owner.walk() for one in inner.operands]
    return needed


def _erase_unread(op: LoopOp, rewriter: PatternRewriter) -> None:
    """Erase the operations of the body that have become unused."""
    for inner in list(op.body.block.ops)[::-1]:
        if not isinstance(inner, YieldOp) and all(result.first_use is None for result in inner.results):
            rewriter.erase(inner)


def _kept(values: Sequence[T], keep: Sequence[bool]) -> list[T]:
    return [value for value, one in zip(values, keep, strict=True) if one]


PATTERNS: tuple[RewritePattern, ...] = (
    FewSteps(),
    WholeCount(),
    UnchangedCarried(),
    InvariantOperations(),
    InvariantResults(),
    ScannedAndStacked(),
    EqualScanned(),
    EqualYielded(),
    UnreadValues(),
)
