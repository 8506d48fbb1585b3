"""
Tasks of loops: each value that a loop carries, stacks or returns is the result of a task of its own.

A carried value has one buffer in the cores for all steps. The task that computes it for the next step writes there, and
so has to follow all others that read the previous value; if it does not, a task at the end of the body copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Block, BlockArgument, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.tasks.task_info import TaskInfo
from ...dialects.dataflow import CastOp, ElementwiseOp, LoopOp, ReshapeOp
from ...dialects.dataflow.loop import YieldOp
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import element_of, shape_of
from ...dialects.locations import at
from ...dialects.manycore import TaskOp

Outline = Callable[[tuple[TilingInterface, ...], str], TaskOp]
"""Outlines operations as a task with this name."""


def separate_values(block: Block) -> None:
    """Insert copies, as operators, of the initial values and the results of the loops of a block."""
    for loop in [op for op in block.ops if isinstance(op, LoopOp)]:
        with at(loop):
            for place, value in enumerate(list(loop.initial)):
                copy = _copy(value)
                Rewriter.insert_op(copy, InsertPoint.before(loop))
                loop.operands[place] = copy.results[0]
            for value in loop.final:
                if value.first_use is not None:
                    copy = _copy(value)
                    Rewriter.insert_op(copy, InsertPoint.after(loop))
                    value.replace_uses_with_if(copy.results[0], lambda use, copy=copy: use.operation is not copy)


def separate_results(loop: LoopOp, outline: Outline) -> None:
    """Let a task of its own compute each value that the body (in tasks) passes to the next step or stacks."""
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp)

    def copied(place: int, name: str) -> None:
        with at(loop):
            copy = _copy(last.operands[place])
            Rewriter.insert_op(copy, InsertPoint.before(last))
            last.operands[place] = outline((copy,), name).results[0]

    count = len(loop.initial)
    for place in range(count):
        root = _seen(last.operands[place])
        if isinstance(root, BlockArgument) and root.block is loop.body.block and root.index != place:
            copied(place, "carried")  # before another task writes there
    for place in range(count, len(last.operands)):
        value = last.operands[place]
        if not isinstance(value.owner, TaskOp) or not value.has_one_use():
            copied(place, "stacked")
    for place in range(count):
        if not _may_write(loop, place):
            copied(place, "carried")


def _copy(value: SSAValue) -> CastOp:
    return CastOp(value, element_of(value))


def _seen(value: SSAValue) -> SSAValue:
    """The value behind reshapes."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operand
    return value


def _may_write(loop: LoopOp, place: int) -> bool:
    """Whether the task that computes a carried value may overwrite the value of this step."""
    value, before = loop.yielded[place], loop.carried_arguments[place]
    writer = value.owner
    if not isinstance(writer, TaskOp) or writer.parent_op() is not loop:
        return False
    if sum(one is value for one in loop.yielded) > 1:
        return False
    for use in _uses(before):
        reader = use.operation
        if not isinstance(reader, TaskOp) or (reader is not writer and not reader.is_before_in_block(writer)):
            return False
        if reader is writer and not _in_place(TaskInfo.of(writer), use.index):
            return False
    return True


def _uses(value: SSAValue) -> Iterator[Use]:
    for use in list(value.uses):
        if isinstance(use.operation, ReshapeOp):
            yield from _uses(use.operation.result)
        else:
            yield use


def _in_place(info: TaskInfo, operand: int) -> bool:
    """Whether a task may write its result over an operand: it reads each element before it is overwritten."""
    argument = info.arguments[operand]
    result = shape_of(info.body[-1].results[0])
    buffers = info.buffers.of_op
    written = next(number for number, buffer in enumerate(buffers) if buffer == info.buffers.result)
    readers = [number for number, op in enumerate(info.body) if any(value is argument for value in op.operands)]
    return all(
        number <= written and isinstance(info.body[number], ElementwiseOp) and shape_of(argument) == result
        for number in readers
    )
