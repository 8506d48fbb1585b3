"""
Kept constants: constants that several tasks read in the same way, as the steps of a recurrent layer do, stay in the
cores from the first of these tasks to the last.

Such tasks have the same operations, and read the same value as the same operand. If they have the same tiling, each
core needs the same slices of it in all of them: these are in one buffer, which only the first of the tasks fills.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.dataflow import ConstantOp, LoopOp, ReshapeOp, WeightOp
from ..tasks.task_info import TaskInfo
from .loops import spans_of
from .plan_specified import is_specified
from .task_plan import Shortage, Source, TaskPlan, aligned

LEAST_BYTES = 4096
"""Smallest size of a task's constants for which tasks are given the same tiling."""
KEPT_SHARE = 0.7
"""
Largest share of SRAM for kept constants at one time, except for those of loops, which every step reads: tasks need
memory for their own values and for other constants.
"""

ReadOf = tuple[int, int]
"""(Number of a task, number of one of its reads)."""


@dataclass(frozen=True, eq=False)
class Sharing:
    """Tasks with the same operations that may keep the same constants."""

    tasks: tuple[int, ...]
    """Numbers of the tasks, in order."""
    operands: tuple[int, ...]
    """The constants among their operands that are the same for all."""
    last: int
    """The last task during which they are kept: for a task in a loop, the last task of the loop."""
    in_loop: bool = False
    """Whether one of `tasks` runs several times."""


def find_sharing(tasks: Sequence[TaskInfo], numbers: Sequence[int]) -> list[Sharing]:
    """
    Groups of tasks that read the same constants, or specify that they keep them. `numbers`: one for each task, the same
    for those with the same operations.
    """
    alike: dict[Hashable, list[int]] = {}
    for task, (info, number) in enumerate(zip(tasks, numbers, strict=True)):
        if constants := _may_keep(info):
            largest = max(constants, key=lambda operand: (operand_bytes(info, operand), operand))
            alike.setdefault((number, largest, _root(info.operands[largest])), []).append(task)
    found: list[Sharing] = []
    end_of = {number: span.last for span in spans_of(tasks) for number in range(span.first, span.last + 1)}
    for members in alike.values():
        if len(members) > 1 or members[0] in end_of:
            constants = [
                {(one, _root(tasks[task].operands[one])) for one in _may_keep(tasks[task])} for task in members
            ]
            common = constants[0].intersection(*constants[1:])
            operands = tuple(sorted(one for one, _ in common))
            last = max(end_of.get(task, task) for task in members)
            found.append(Sharing(tuple(members), operands, last, any(task in end_of for task in members)))
    return found


def _may_keep(info: TaskInfo) -> tuple[int, ...]:
    """The constants among the operands of a task: those that it specifies as kept, or all if they are large enough."""
    constants = tuple(operand for operand, value in enumerate(info.operands) if _is_constant(value))
    if is_specified(info):
        return tuple(operand for operand in info.op.kept if operand in constants)
    if isinstance(info.op.parent_op(), LoopOp):
        return constants  # every step reads them
    return constants if sum(operand_bytes(info, operand) for operand in constants) >= LEAST_BYTES else ()


def _is_constant(value: SSAValue) -> bool:
    return isinstance(_root(value).owner, ConstantOp | WeightOp)


def _root(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    return value


def operand_bytes(info: TaskInfo, operand: int) -> int:
    """Bytes of an operand of a task, over all cores."""
    size = info.argument_bytes[operand]
    for extent in info.argument_shapes[operand]:
        size *= extent
    return size


def first_of_kept(tasks: Sequence[TaskInfo], plans: Sequence[TaskPlan]) -> dict[ReadOf, ReadOf]:
    """For each kept read, the first read of the same slices in the same cores, which loads them."""
    first: dict[Hashable, ReadOf] = {}
    found: dict[ReadOf, ReadOf] = {}
    for number, (info, plan) in enumerate(zip(tasks, plans, strict=True)):
        for index in plan.kept_reads():
            read = plan.reads[index]
            operand, slices = read.read.operand, read.whole
            key = (
                _root(info.operands[operand]),
                info.argument_shapes[operand],
                slices.cores.tobytes(),
                slices.extents.tobytes(),
            )
            found[number, index] = first.setdefault(key, (number, index))
    return found


def with_loads(tasks: Sequence[TaskInfo], plans: Sequence[TaskPlan]) -> tuple[TaskPlan, ...]:
    """The plans, in which each kept constant is loaded by the first task that keeps it."""
    loads: dict[int, list[int]] = {}
    for read, (task, index) in first_of_kept(tasks, plans).items():
        if read == (task, index):
            loads.setdefault(task, []).append(index)
    # The other tasks are planned as if the constants were already loaded, so that shared plans stay shared.
    return tuple(plan.loading(loads[number]) if number in loads else plan for number, plan in enumerate(plans))


PlanNext = Callable[..., "TaskPlan | Shortage"]
"""Plans the next task, given the sources of its operands; `grid`: the only grid allowed."""


@dataclass
class Keeping:
    """The kept constants while tasks are planned one after another."""

    sharing: Sequence[Sharing]
    chip: Chip
    given_up: set[Sharing] = field(default_factory=set[Sharing])
    """Kept constants that were given up because they do not fit."""

    @cached_property
    def _of_task(self) -> Mapping[int, Sharing]:
        return {task: one for one in self.sharing for task in one.tasks}

    def _first(self, one: Sharing, plans: Sequence[TaskPlan]) -> TaskPlan | None:
        """The plan of the first task that keeps it."""
        begun = (plans[task] for task in one.tasks if task < len(plans))
        return next((plan for plan in begun if plan.kept_reads()), None)

    def beside(self, plans: Sequence[TaskPlan]) -> dict[Sharing, TaskPlan]:
        """
        Kept constants that the task after those with `plans` does not read, and their reads.
        """
        number = len(plans)
        found: dict[Sharing, TaskPlan] = {}
        for one in self.sharing:
            if one not in self.given_up and one.tasks[0] < number <= one.last and number not in one.tasks:
                first = self._first(one, plans)
                if first is not None:
                    found[one] = first
        return found

    def plan(self, plans: Sequence[TaskPlan], sources: Sequence[Source], make: PlanNext) -> TaskPlan | None:
        """
        The plan of the task after those with `plans` that keeps shared constants; None if it shares nothing, or if they
        do not fit.
        """
        one = self._of_task.get(len(plans))
        if one is None or one in self.given_up:
            return None
        first = self._first(one, plans)
        if first is None and one.tasks[-1] == len(plans) and not one.in_loop:
            return None  # no later task reads them
        given = {} if first is None else {"grid": first.tiling.over_cores}
        plan = make(keep_operands(sources, one.operands), **given)
        if isinstance(plan, Shortage) or not plan.kept_reads():
            return None
        if first is None:
            kept = kept_bytes(plan) + sum(map(kept_bytes, self.beside(plans).values()))
            if not one.in_loop and kept > KEPT_SHARE * self.chip.sram_bytes:
                self.given_up.add(one)
                return None
        return plan

    def in_loop(self, task: int) -> tuple[int, ...]:
        """
        The constants among the operands of a task that all steps of a loop should keep: of one in the loop, or of an
        equal one outside of it. None for other tasks.
        """
        one = self._of_task.get(task)
        return one.operands if one is not None and one.in_loop and one not in self.given_up else ()

    def give_up(self, kept: Mapping[Sharing, TaskPlan]) -> int:
        """Give up the largest of these. Returns the number of the first task that must be planned again."""
        largest = max(kept, key=lambda one: (kept_bytes(kept[one]), -one.tasks[0]))
        self.given_up.add(largest)
        return largest.tasks[0]


def keep_operands(sources: Sequence[Source], operands: Container[int]) -> list[Source]:
    """The sources, with these operands kept in the cores."""
    return [replace(one, keep=number in operands) if one.constant else one for number, one in enumerate(sources)]


def kept_bytes(plan: TaskPlan) -> int:
    """Bytes of a core's SRAM that the kept constants of a task take."""
    return sum(aligned(plan.sizes[number].buffer_bytes) for number in plan.kept_reads())
