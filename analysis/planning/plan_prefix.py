"""The plans of the first tasks of a network while it is planned, and the results that are in the cores then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest

from xdsl.ir import SSAValue

from ..tasks.task_info import TaskInfo
from .loops import held_as, held_rows, memory_root, spans_of
from .plan_specified import is_specified
from .task_plan import TaskPlan, aligned


@dataclass
class PlanPrefix:
    """Plans of the first tasks, and the results that are in the cores when the next task begins."""

    tasks: tuple[TaskInfo, ...]
    last_use: dict[SSAValue, int]
    plans: list[TaskPlan] = field(default_factory=list[TaskPlan])
    resident: dict[SSAValue, TaskPlan] = field(default_factory=dict[SSAValue, TaskPlan])
    movable: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """The values of `resident` that may go to DRAM, because their tasks do not specify a memory."""
    held_bytes: int = 0
    """Bytes of SRAM of a core that `resident` takes."""
    leaving: dict[int, list[SSAValue]] = field(default_factory=dict[int, list[SSAValue]])
    """Number of a task -> the values of `resident` of which it is the last reader."""
    planned_again: int = 0
    """Total number of plans that were discarded."""

    @cached_property
    def bound(self) -> set[SSAValue]:
        """Results that must stay in the cores: of tasks in loops, and carried values."""
        spans = spans_of(self.tasks)
        carried = {memory_root(value) for span in spans for value in (*span.op.initial, *span.numbers)}
        return carried | {info.result for span in spans for info in self.tasks[span.first : span.last + 1]}

    @cached_property
    def numbers(self) -> dict[SSAValue, int]:
        """Value -> number of the task that computes it, or a part of it in each step of a loop."""
        return {held_as(info.result): number for number, info in enumerate(self.tasks)}

    def bytes_of(self, value: SSAValue) -> int:
        """Bytes of SRAM of a core that a resident value takes."""
        return aligned(self.resident[value].tile_bytes * held_rows(self.tasks[self.numbers[value]].result))

    def in_the_way(self) -> set[SSAValue]:
        """
        The values that go to DRAM if the task does not fit: those with the largest tiles; ties go to the earlier one.
        """
        count = 1 << self.planned_again // len(self.tasks)
        return set(nlargest(count, self.movable, lambda value: (self.bytes_of(value), -self.numbers[value])))

    def add(self, plan: TaskPlan) -> None:
        """Append the plan of the next task."""
        number = len(self.plans)
        self.plans.append(plan)
        for value in self.leaving.pop(number, ()):
            self.held_bytes -= self.bytes_of(value)
            del self.resident[value]
            self.movable.pop(value, None)
        if plan.resident and self.last_use[held_as(self.tasks[number].result)] > number:
            self._enter(number, plan)

    def go_back(self, values: Iterable[SSAValue]) -> None:
        """Discard the plans from the first task on that computes one of these values."""
        self.go_back_to(min(self.numbers[value] for value in values))

    def go_back_to(self, number: int) -> None:
        """Discard the plans from this task on."""
        self.planned_again += len(self.plans) - number
        del self.plans[number:]
        self.resident, self.movable, self.held_bytes, self.leaving = {}, {}, 0, {}
        for earlier, (info, plan) in enumerate(zip(self.tasks, self.plans, strict=False)):
            if plan.resident and self.last_use[held_as(info.result)] >= number:
                self._enter(earlier, plan)

    def _enter(self, number: int, plan: TaskPlan) -> None:
        info = self.tasks[number]
        value = held_as(info.result)
        self.resident[value] = plan
        self.held_bytes += self.bytes_of(value)
        self.leaving.setdefault(self.last_use[value], []).append(value)
        if not is_specified(info) and value not in self.bound:
            self.movable[value] = None
