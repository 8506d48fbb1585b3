"""A memo of the plans of a network's tasks, by which the network is planned again quickly after a few changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from ...chips import Chip
from ...dialects.manycore import TaskOp
from ..tasks.task_info import TaskInfo
from .sram_budget import BudgetMemo, SramBudget
from .task_plan import Shortage, Source, TaskPlan

KEPT_TASKS = 4000
"""Largest number of tasks in the shared memo; beyond it a new one is begun."""

_shared: dict[str, PlanMemo] = {}


def memo_for(chip: Chip) -> PlanMemo:
    """
    The memo that subgraphs planned in this process share, for one chip at a time: the whole network and its subgraphs
    mostly have the same tasks.
    """
    memo = _shared.get(chip.fingerprint)
    if memo is None or memo.tasks > KEPT_TASKS:
        _shared.clear()
        memo = _shared[chip.fingerprint] = PlanMemo()
    return memo


def forget_plans() -> None:
    """Clear the shared memo: for measuring a compilation after others, or with other constants."""
    _shared.clear()


@dataclass
class PlanMemo:
    """
    A memo of tasks and their plans. A plan is reused for all tasks with the same operations and sources, if the budget
    gives the same answers.
    """

    _infos: dict[TaskOp, TaskInfo] = field(default_factory=dict[TaskOp, TaskInfo])
    _like: dict[int, TaskInfo] = field(default_factory=dict[int, TaskInfo])
    """The first task with each number."""
    _plans: BudgetMemo[TaskPlan | Shortage] = field(default_factory=BudgetMemo["TaskPlan | Shortage"])
    _several: BudgetMemo[list[TaskPlan]] = field(default_factory=BudgetMemo["list[TaskPlan]"])
    _contents: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _numbers: dict[TaskInfo, int] = field(default_factory=dict[TaskInfo, int])

    @property
    def tasks(self) -> int:
        """Number of tasks in the memo."""
        return len(self._infos)

    def info(self, op: TaskOp) -> TaskInfo:
        """The facts about a task, which must not change after the first call."""
        found = self._infos.get(op)
        if found is None:
            found = self._infos[op] = TaskInfo.of(op)
            found.share(self._like.setdefault(self.number(found), found))
        return found

    def plan(
        self,
        info: TaskInfo,
        sources: Sequence[Source],
        available: int,
        how: Hashable,
        make: Callable[[SramBudget], TaskPlan | Shortage],
    ) -> TaskPlan | Shortage:
        """The plan of a task in `available` bytes of SRAM; `how` is everything else that it depends on."""
        return self._plans.get(self._key(info, sources, how), available, make)

    def several(
        self,
        info: TaskInfo,
        sources: Sequence[Source],
        available: int,
        how: Hashable,
        make: Callable[[SramBudget], list[TaskPlan]],
    ) -> list[TaskPlan]:
        """As `plan`, for searches that continue with several plans of a task. The memo keeps them."""
        return self._several.get(self._key(info, sources, how), available, make)

    def _key(self, info: TaskInfo, sources: Sequence[Source], how: Hashable) -> Hashable:
        return self.number(info), tuple(source_key(source) for source in sources), how

    def number(self, info: TaskInfo) -> int:
        """A number that is equal for tasks with the same operations."""
        found = self._numbers.get(info)
        if found is None:
            found = self._numbers[info] = self._contents.setdefault(info.content, len(self._contents))
        return found


def source_key(source: Source) -> Hashable:
    """A key that is equal for sources with the same bytes in the same cores."""
    held = source.distribution
    return source.constant, source.keep, None if held is None else held.key
