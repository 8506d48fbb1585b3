"""
Loops among the tasks of a function: `dataflow.loop` with tasks in its body.

The tasks of a body are planned once, in sequence with those around it. Their operands and results have the same
addresses in all steps: a carried value stays in the cores, in the tiles of the task that computes its initial value,
and the task that computes it for the next step overwrites these tiles. A scanned or stacked value is a part of a value
in DRAM that advances in every step, or a row of one that is spread over the cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from ...dialects.dataflow import LoopOp, ReshapeOp
from ...dialects.dataflow.loop import Along
from ...dialects.dataflow.types import shape_of, tensor_bytes, tensor_of
from ...dialects.manycore import TaskOp
from ..tasks.task_info import TaskInfo


@dataclass(frozen=True)
class LoopSpan:
    """The tasks of a loop's body, by their numbers."""

    op: LoopOp
    first: int
    last: int

    @property
    def steps(self) -> int:
        """Number of steps, the largest if it is known at run time only."""
        return self.op.step_count

    @property
    def numbers(self) -> tuple[SSAValue, ...]:
        """
        The values by which every core determines the end of the loop: the count, and for each step whether another one
        follows.
        """
        values = (self.op.count, self.op.going)
        return tuple(memory_root(value) for value in values if value is not None)

    def __contains__(self, task: int) -> bool:
        return self.first <= task <= self.last


@dataclass(frozen=True)
class Part:
    """
    The part of a value that a step reads or writes: a range of bytes, which advances in every step. If the value is
    distributed over the cores, the part of each core is a row of its tile.
    """

    whole: SSAValue
    loop: LoopOp
    start: int
    """Bytes before the part of the first step."""
    advance: int
    """Bytes from the part of a step to that of the next; negative for reverse order."""

    @property
    def rows(self) -> int:
        """Number of such parts of the value."""
        return self.loop.step_count

    @property
    def first_row(self) -> int:
        """The number of the first step's part."""
        return self.rows - 1 if self.advance < 0 else 0

    @property
    def next_row(self) -> int:
        """The distance from the part of a step to that of the next, counted in parts."""
        return -1 if self.advance < 0 else 1


def tasks_in(function: FuncOp) -> Iterator[TaskOp]:
    """The tasks of a function in order, including those in the bodies of loops."""
    for op in function.body.block.ops:
        if isinstance(op, TaskOp):
            yield op
        elif isinstance(op, LoopOp):
            yield from (inner for inner in op.body.block.ops if isinstance(inner, TaskOp))


def loops_in(block: Block) -> list[LoopOp]:
    """The loops directly in a block."""
    return [op for op in block.ops if isinstance(op, LoopOp)]


def spans_of(tasks: Sequence[TaskInfo]) -> tuple[LoopSpan, ...]:
    """The loops that tasks are in."""
    found: dict[LoopOp, list[int]] = {}
    for number, info in enumerate(tasks):
        parent = info.op.parent_op()
        if type(parent) is LoopOp:
            found.setdefault(parent, []).append(number)
    return tuple(LoopSpan(loop, numbers[0], numbers[-1]) for loop, numbers in found.items())


def memory_root(value: SSAValue) -> SSAValue:
    """
    The storage root of a value of tasks: reshapes outside of tasks are views, and a carried value is in the memory of
    its initial value.
    """
    while True:
        owner = value.owner
        if type(owner) is ReshapeOp:
            value = owner.operands[0]
        elif (before := _carried_from(value)) is not None:
            value = before
        else:
            return value


def _carried_from(value: SSAValue) -> SSAValue | None:
    """The initial value of a carried value."""
    # Classes are compared, because `isinstance` for another class of the IR takes ten times as long, for many values.
    if type(value) is BlockArgument:
        loop = value.block.parent_op()
        if type(loop) is LoopOp and value.index < loop.carried_count:
            return loop.operands[value.index]
        return None
    assert isinstance(value, OpResult)
    if type(value.op) is LoopOp:
        return value.op.operands[value.index] if value.index < value.op.carried_count else None
    loop = value.op.parent_op()
    if type(loop) is LoopOp and type(value.op) is TaskOp:
        position = next(
            (position for position, one in enumerate(loop.yielded[: loop.carried_count]) if one is value), None
        )
        return None if position is None else loop.operands[position]
    return None


def is_carry(info: TaskInfo) -> bool:
    """Whether a task in a loop computes a carried value for the next step."""
    return _carried_from(info.result) is not None


def part_of(value: SSAValue) -> Part | None:
    """
    The part of another value in DRAM that a value is: a step's slice of a scanned value, or a task's result that is
    stacked.
    """
    if type(value) is BlockArgument:
        loop = value.block.parent_op()
        if type(loop) is LoopOp and (position := value.index - loop.carried_count) >= 0:
            return _part(loop, loop.operands[value.index], loop.scans[position])
        return None
    assert isinstance(value, OpResult)
    loop = value.op.parent_op()
    if type(loop) is LoopOp:
        for position, one in enumerate(loop.yielded[loop.carried_count :]):
            if one is value:
                return _part(loop, loop.stacked[position], loop.stacks[position])
    return None


def written_part(result: SSAValue) -> Part | None:
    """The stacked value of which a task's result is a part, with its position; None for other results."""
    return part_of(result) if isinstance(result, OpResult) else None


def held_as(result: SSAValue) -> SSAValue:
    """The value whose memory holds the result of a task: a stacked value of which it is a part, or itself."""
    part = written_part(result)
    return result if part is None else part.whole


def held_rows(result: SSAValue) -> int:
    """Number of parts like the result in that memory; 1 for a result that is not a part of another value."""
    part = written_part(result)
    return 1 if part is None else part.rows


def _part(loop: LoopOp, whole: SSAValue, along: Along) -> Part:
    step = tensor_bytes(tensor_of(whole)) // max(1, loop.step_count)
    start = step * (loop.step_count - 1) if along.backwards else 0
    return Part(memory_root(whole), loop, start, -step if along.backwards else step)


def is_in_rows(shape: Sequence[int], along: Along) -> bool:
    """Whether the values of steps are contiguous in a tensor of this shape."""
    return prod(shape[: along.axis]) == 1


def scan_shapes_fit(loop: LoopOp) -> bool:
    """Whether all scanned and stacked values of a loop have the values of steps contiguous."""
    scanned = zip(loop.scanned, loop.scans, strict=True)
    stacked = zip(loop.stacked, loop.stacks, strict=True)
    return all(is_in_rows(shape_of(value), along) for value, along in (*scanned, *stacked))
