"""Fusion of independent loops into one, whose steps execute the steps of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.planning.loops import loops_in
from ...dialects.dataflow import ConstantOp, LoopOp, WeightOp
from ...dialects.dataflow.loop import YieldOp
from ...dialects.dataflow.types import tensor_bytes, tensor_of
from ...dialects.locations import at


def fuse_loops(block: Block, stays: Callable[[LoopOp], bool], most_bytes: int) -> bool:
    """
    Fuse pairs of independent loops of a block that have the same number of steps and whose bodies together read
    constants of at most `most_bytes` bytes. `stays`: whether a loop may be fused. Returns whether any were fused.
    """
    fused = False
    loops = [loop for loop in loops_in(block) if stays(loop)]
    for number, later in enumerate(loops):
        for place, earlier in enumerate(loops[:number]):
            if earlier.parent is None or earlier.step_count != later.step_count:
                continue
            if earlier.ending != later.ending or earlier.ending.conditional:
                continue
            if _constant_bytes(earlier, later) <= most_bytes and (between := _dependents(earlier, later)) is not None:
                loops[place] = loops[number] = later = _fuse(earlier, later, between)
                fused = True
    return fused


def _constant_bytes(*loops: LoopOp) -> int:
    """Bytes of the constants that bodies read, which should stay in the cores."""
    values = {
        value
        for loop in loops
        for op in loop.body.block.ops
        for value in op.operands
        if loop.is_outside(value) and isinstance(value.owner, ConstantOp | WeightOp)
    }
    return sum(tensor_bytes(tensor_of(value)) for value in values if prod(tensor_of(value).get_shape()))


def _dependents(earlier: LoopOp, later: LoopOp) -> list[Operation] | None:
    """The operations between two loops that depend on the first; None if the second depends on one of them."""
    waiting: set[SSAValue] = set(earlier.results)
    found: list[Operation] = []
    op = earlier.next_op
    while op is not None and op is not later:
        if any(value in waiting for inner in op.walk() for value in inner.operands):
            waiting.update(op.results)
            found.append(op)
        op = op.next_op
    if op is None or any(value in waiting for inner in later.walk() for value in inner.operands):
        return None
    return found


def _fuse(earlier: LoopOp, later: LoopOp, between: Sequence[Operation]) -> LoopOp:
    """
    The fused loop, at the position of the later one; `between`: operations that depend on the earlier one, which are
    moved after the fused loop.
    """
    loops = (earlier, later)
    types = [
        *(argument.type for loop in loops for argument in loop.carried_arguments),
        *(argument.type for loop in loops for argument in loop.scanned_arguments),
    ]
    block = Block(arg_types=types)
    arguments = [*earlier.carried_arguments, *later.carried_arguments]
    arguments += [*earlier.scanned_arguments, *later.scanned_arguments]
    for argument, new in zip(arguments, block.args, strict=True):
        new.name_hint = argument.name_hint
        argument.replace_all_uses_with(new)
    yielded = [value for loop in loops for value in loop.yielded[: len(loop.initial)]]
    yielded += [value for loop in loops for value in loop.yielded[len(loop.initial) :]]
    for loop in loops:
        for op in list(loop.body.block.ops):
            op.detach()
            if isinstance(op, YieldOp):
                op.erase()
            else:
                block.add_op(op)
    with at(earlier):
        block.add_op(YieldOp(yielded))
        made = LoopOp(
            earlier.step_count,
            [*earlier.initial, *later.initial],
            [pair for loop in loops for pair in zip(loop.scanned, loop.scans, strict=True)],
            [along for loop in loops for along in loop.stacks],
            Region(block),
            earlier.ending,
        )
    Rewriter.insert_op(made, InsertPoint.before(later))
    for op in between[::-1]:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.after(made))
    results = [*earlier.final, *later.final, *earlier.stacked, *later.stacked]
    for before, after in zip(results, made.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    for loop in loops:
        Rewriter.erase_op(loop)
    return made
