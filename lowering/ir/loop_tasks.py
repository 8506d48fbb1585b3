"""
Preparation of the tasks of loops: each value that a loop carries, stacks or returns is the result of a separate task.

A carried value has one buffer in the cores for all steps. The task that computes it for the next step writes this
buffer, and so has to follow all readers of the previous value; if it does not, a task at the end of the body copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.tasks.task_info import TaskInfo
from ...dialects.dataflow import AddOp, BroadcastOp, CastOp, ConstantOp, DivOp, ElementwiseOp, LoopOp, ReshapeOp
from ...dialects.dataflow.base import int_attr
from ...dialects.dataflow.loop import YieldOp
from ...dialects.dataflow.tiling import TilingInterface
from ...dialects.dataflow.types import element_of, shape_of, tensor_of
from ...dialects.locations import at
from ...dialects.manycore import TaskOp

LARGEST_GROUP = 8
"""
Largest number of steps that a loop runs together whose count is known at run time only: its code contains them one
after the other, and on average half of them are executed unnecessarily.
"""

Outline = Callable[[tuple[TilingInterface, ...], str], TaskOp]
"""Outlines operations as a task with this name."""


def separate_values(block: Block) -> None:
    """
    Insert copies, as operators, of the initial values and the results of the loops of a block; of stacked values that
    the block returns (those that only tasks read may stay in SRAM); and of scanned values in DRAM, for whose rows steps
    would wait.
    """
    for loop in [op for op in block.ops if isinstance(op, LoopOp)]:
        with at(loop):
            for position, value in enumerate(list(loop.initial)):
                copy = _copy(value)
                Rewriter.insert_op(copy, InsertPoint.before(loop))
                loop.operands[position] = copy.results[0]
            if loop.ending:
                _bring_what_is_scanned(loop)
            for value in loop.final:
                if value.first_use is not None:
                    copy = _copy(value)
                    Rewriter.insert_op(copy, InsertPoint.after(loop))
                    value.replace_uses_with_if(copy.results[0], lambda use, copy=copy: use.operation is not copy)
    if block.last_op is not None:
        _copy_what_is_given_back(block.last_op)


def _bring_what_is_scanned(loop: LoopOp) -> None:
    """Insert copies of arguments of the block that a loop scans."""
    copies: dict[SSAValue, SSAValue] = {}
    for position, value in enumerate(list(loop.scanned), len(loop.initial)):
        if isinstance(_seen(value), BlockArgument):
            if value not in copies:
                copy = _copy(value)
                Rewriter.insert_op(copy, InsertPoint.before(loop))
                copies[value] = copy.results[0]
            loop.operands[position] = copies[value]


def spread_numbers(loop: LoopOp, cores: int) -> None:
    """
    Insert operators that give each of `cores` cores its own copy of the count of a loop and, in each step, of the
    condition for another step.
    """
    with at(loop):
        if loop.count is not None and loop.masked is not None and loop.group is None:
            _group_steps(loop, loop.count)
        if loop.count is not None:
            loop.operands[len(loop.operands) - 1] = _spread(loop.count, cores, InsertPoint.before(loop), "count")
        last = loop.body.block.last_op
        if loop.going is not None and last is not None:
            last.operands[len(last.operands) - 1] = _spread(loop.going, cores, InsertPoint.before(last), "going")


def _group_steps(loop: LoopOp, count: SSAValue) -> None:
    """
    Let a loop for which additional steps are harmless run groups of up to `LARGEST_GROUP` steps: only at the end of a
    group are units idle.
    """
    group = max(size for size in range(1, LARGEST_GROUP + 1) if loop.step_count % size == 0)
    if group == 1:
        return
    type = tensor_of(count)
    rest, size = (ConstantOp.splat(number, type) for number in (group - 1, group))
    more = AddOp(count, rest.results[0])
    groups = DivOp(more.results[0], size.results[0])
    more.results[0].name_hint = groups.results[0].name_hint = "groups"
    for op in (rest, size, more, groups):
        Rewriter.insert_op(op, InsertPoint.before(loop))
    loop.operands[len(loop.operands) - 1] = groups.results[0]
    loop.group = int_attr(group)


def _spread(value: SSAValue, cores: int, where: InsertPoint, name: str) -> SSAValue:
    one = ReshapeOp(value, (1,))
    every = BroadcastOp(one, (cores,))
    every.result.name_hint = name
    for op in (one, every):
        Rewriter.insert_op(op, where)
    return every.result


def _copy_what_is_given_back(last: Operation) -> None:
    """Insert copies of values that loops stack, if the last operation of a block reads them."""
    for position, value in enumerate(list(last.operands)):
        loop = _seen(value).owner
        if isinstance(loop, LoopOp):
            with at(loop):
                copy = _copy(value)
                copy.results[0].name_hint = value.name_hint
                Rewriter.insert_op(copy, InsertPoint.before(last))
                last.operands[position] = copy.results[0]


def store_in_steps(loop: LoopOp) -> bool:
    """
    Remove the tasks that `separate_values` inserted to copy stacked values without other readers: these are then in
    DRAM. Returns whether there was one.
    """
    copies = [task for task in map(_only_copy, loop.stacked) if task is not None]
    for task in copies:
        task.results[0].replace_all_uses_with(task.operands[0])
        Rewriter.erase_op(task)
    return bool(copies)


def _only_copy(value: SSAValue) -> TaskOp | None:
    """The task that copies a value for the end of the block, if it is the only reader, through reshapes or not."""
    use = value.get_user_of_unique_use()
    while isinstance(use, ReshapeOp):
        use = use.result.get_user_of_unique_use()
    if not isinstance(use, TaskOp) or not _is_returned(use.results[0]):
        return None
    body = list(use.body.block.ops)
    same = isinstance(body[0], CastOp) and len(body) == 2 and use.operands[0].type == use.results[0].type
    return use if same else None


def _is_returned(value: SSAValue) -> bool:
    """Whether only the end of a block reads a value."""
    return all(one.operation.next_op is None for one in value.uses)


def separate_results(loop: LoopOp, outline: Outline) -> None:
    """Let a separate task compute each value that the body (in tasks) passes to the next step or stacks."""
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp)

    def copied(position: int, name: str) -> None:
        with at(loop):
            copy = _copy(last.operands[position])
            Rewriter.insert_op(copy, InsertPoint.before(last))
            last.operands[position] = outline((copy,), name).results[0]

    count, results = len(loop.initial), len(loop.outputs)
    for position in range(count):
        root = _seen(last.operands[position])
        if isinstance(root, BlockArgument) and root.block is loop.body.block and root.index != position:
            copied(position, "carried")  # before another task writes there
    stacked = [
        position
        for position in range(count, results)
        if not isinstance(last.operands[position].owner, TaskOp) or not last.operands[position].has_one_use()
    ]
    late = [position for position in stacked if isinstance(_seen(last.operands[position]).owner, TaskOp)]
    for position in stacked:
        if position not in late:
            copied(position, "stacked")  # before its memory is written again
    for position in range(count):
        if not _may_write(loop, position):
            copied(position, "carried")
    for position in late:
        copied(position, "stacked")


def _copy(value: SSAValue) -> CastOp:
    return CastOp(value, element_of(value))


def _seen(value: SSAValue) -> SSAValue:
    """The value behind reshapes."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operand
    return value


def _may_write(loop: LoopOp, position: int) -> bool:
    """Whether the task that computes a carried value may overwrite the value of this step."""
    value, before = loop.yielded[position], loop.carried_arguments[position]
    writer = value.owner
    if not isinstance(writer, TaskOp) or writer.parent_op() is not loop:
        return False
    if sum(one is value for one in loop.yielded[: len(loop.initial)]) > 1:
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
