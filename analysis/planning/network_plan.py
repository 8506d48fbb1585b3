"""The plan of a network: its tasks in order, with a plan for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from ...dialects.dataflow import ReshapeOp
from ..tasks.task_info import TaskInfo
from .estimate import Pricing
from .kept_constants import ReadOf, first_of_kept
from .loops import LoopSpan, held_as, memory_root, spans_of
from .prefetch_candidates import PREFETCH_POLICIES, PrefetchPolicy
from .task_plan import TaskPlan


def storage_root(value: SSAValue) -> SSAValue:
    """The value whose memory a value uses: reshapes outside of tasks are views."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    return value


@dataclass(frozen=True)
class NetworkPlan:
    """The tasks of a function in order, with their plans."""

    tasks: tuple[TaskInfo, ...]
    plans: tuple[TaskPlan, ...]
    last_use: dict[SSAValue, int]
    """Number of the last task that reads a value (by storage root)."""
    policy: PrefetchPolicy = PREFETCH_POLICIES[0]
    """A prefetch policy: how early constants are loaded."""
    pricing: Pricing = Pricing.HIDDEN
    """The pricing by which the tilings were chosen."""

    @cached_property
    def roots(self) -> tuple[tuple[SSAValue, ...], ...]:
        """By task, the storage roots of its operands."""
        return tuple(tuple(map(memory_root, info.operands)) for info in self.tasks)

    @cached_property
    def loops(self) -> tuple[LoopSpan, ...]:
        """The loops around tasks."""
        return spans_of(self.tasks)

    @cached_property
    def loop_of(self) -> dict[int, LoopSpan]:
        """Number of a task -> its loop, if any."""
        return {number: span for span in self.loops for number in range(span.first, span.last + 1)}

    @cached_property
    def kept(self) -> dict[ReadOf, ReadOf]:
        """Reads of kept constants -> the read that loads them (see `kept_constants`)."""
        return first_of_kept(self.tasks, self.plans)

    @cached_property
    def kept_until(self) -> dict[ReadOf, int]:
        """Reads that load kept constants -> number of the last task that reads these."""
        last = {first: number for (number, _), first in self.kept.items()}
        return {
            first: self.loop_of[number].last if number in self.loop_of else number for first, number in last.items()
        }

    def cycles_of_step(self, number: int) -> float:
        """Estimated cycles of a task in a loop, in isolation, in a step that finds its resident operands."""
        return self.plans[number].loading(()).cycles

    def cycles_of_loop(self, span: LoopSpan) -> float:
        """Estimated cycles of a step of a loop in which each core runs its tasks one after the other."""
        cycles: dict[int, float] = {}
        for number in range(span.first, span.last + 1):
            own = self.cycles_of_step(number)
            for core in self.plans[number].tiling.cores:
                cycles[core] = cycles.get(core, 0.0) + own
        return max(cycles.values(), default=0.0)

    def keeps_rows(self, span: LoopSpan) -> bool:
        """Whether the results that a loop stacks stay in the cores; otherwise each step stores a row, and waits."""
        return all(value in self.resident for value in span.op.stacked)

    @property
    def resident(self) -> dict[SSAValue, int]:
        """Resident values -> number of the task that computes them, or a part of them in each step of a loop."""
        return {held_as(info.result): number for number, info in enumerate(self.tasks) if self.plans[number].resident}
