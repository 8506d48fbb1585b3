"""Estimated cycles of a planned network: all tasks in turn on the clocks of `estimate`, loads ahead of their turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.coreasm.isa import Unit
from ..task_info import TaskInfo
from .estimate import Clocks, TaskWork
from .exchange_time import credit_cycles, follow
from .gather_schedule import gather_transfers
from .interleaved import parts_interleave
from .plan_network import NetworkPlan
from .plan_task import TaskPlan


@dataclass(frozen=True)
class Code:
    """What is known of a network beside its plan once it is in code."""

    ahead: Mapping[int, int]
    """Task -> the earlier task during which its first constants are loaded (see `load_ahead`)."""
    apart: Collection[int]
    """Tasks that work on parts of their results in buffers of their own (see `interleaved`)."""
    freed: Mapping[tuple[int, bool], int]
    """(task, constants or not) -> the last task before that uses the memory which its first loads go to; none: -1."""
    issued: NDArray[np.int64] | None = None
    """[tasks, units] instructions of the busiest core; None: as if queues of units had no end."""
    deep: Mapping[int, int] = field(default_factory=dict[int, int])
    """Task -> number of its first steps whose constants are loaded together, where it is not 1 (see `deep_loads`)."""


class TaskWorks:
    """What the tasks of a network do; the times of their exchanges are worked out once."""

    def __init__(self, network: NetworkPlan, chip: Chip) -> None:
        self._network = network
        self._works = [exact_work(info, plan, chip) for info, plan in zip(network.tasks, network.plans, strict=True)]

    def beside(self, code: Code) -> list[TaskWork]:
        """By task, with what `code` says of buffers and of constants that come early."""
        tasks = zip(self._works, self._network.tasks, self._network.plans, strict=True)
        return [
            work_beside(work, number not in code.apart, info, plan)._replace(early=code.deep.get(number, 1))
            for number, (work, info, plan) in enumerate(tasks)
        ]


def network_estimate(network: NetworkPlan, code: Code, chip: Chip, works: Sequence[TaskWork]) -> list[int]:
    """
    By task, the cycles by which it ends later than all before it: their sum is the estimate of the run. `works`: what
    tasks do, by `TaskWorks`.
    """
    run = NetworkRun(network, code, chip)
    reached = [0.0]
    """Ends of all tasks so far, the latest last, from the start on."""
    for work in works:
        run.advance(work, works)
        reached.append(run.reached)
    # What is stored last has to arrive.
    reached[-1] += chip.dram_latency
    return [round(end) - round(start) for start, end in pairwise(reached)]


class NetworkRun:
    """Tasks on the clocks, one after another: the first of the network to begin with. All times are in cycles."""

    def __init__(self, network: NetworkPlan, code: Code, chip: Chip) -> None:
        self.network, self.chip, self.code = network, chip, code
        self.later: dict[int, list[int]] = {}
        """Task -> those whose first constants are loaded during it."""
        for task, start in code.ahead.items():
            self.later.setdefault(start, []).append(task)
        self.clocks = Clocks(chip, before=credit_cycles(chip), after=2.0, message=0.0)
        self.reached = 0.0
        """When all tasks so far have ended."""
        self.complete: dict[SSAValue, float] = {}
        """Result -> when it is there."""
        self.constants: dict[int, float] = {}
        """Task -> when its first constants are in its cores."""
        self.spans: list[dict[str, list[tuple[float, float]]]] = []
        """By task, (start, cycles) of what units do for it."""
        self.begins: list[float] = []
        """By task, when its operands are in its cores."""
        self.steps: list[int] = []
        self.ends: list[float] = []
        self.issued = np.zeros((len(network.tasks), len(Unit)), np.int64) if code.issued is None else code.issued
        """[tasks, units] instructions of the busiest core."""
        self.counts = np.cumsum(self.issued, axis=0)
        """The same of a task and all before it."""

    def fork(self) -> NetworkRun:
        """A run that goes on from here by itself."""
        run = copy(self)
        run.clocks = replace(self.clocks, units=dict(self.clocks.units), worked=[])
        run.complete, run.constants = dict(self.complete), dict(self.constants)
        run.spans, run.begins = list(self.spans), list(self.begins)
        run.steps, run.ends = list(self.steps), list(self.ends)
        return run

    def advance(self, work: TaskWork, works: Sequence[TaskWork]) -> None:
        """Run the next task, which does `work`, and load meanwhile what is loaded ahead for others of all `works`."""
        number = len(self.ends)
        if number not in self.code.ahead:
            self._load(number, work, number)
        self._task(number, work)
        for task in self.later.get(number, ()):
            self._load(task, works[task], number)

    def _load(self, number: int, work: TaskWork, during: int) -> None:
        """Load the first constants of a task during an earlier one (its last step), and pass them on."""
        there = self._free(number, True, during)
        there = self.clocks.load(there, work.constants + (work.early - 1) * work.later_constants)
        self.constants[number] = self.clocks.send(there, work.passed_constants) if work.constants else there

    def _task(self, number: int, work: TaskWork) -> None:
        inputs = max((self.complete.get(value, 0.0) for value in self.network.roots[number]), default=0.0)
        free = max(inputs, self._free(number, False, number)) if work.values else inputs
        self.clocks.worked.clear()
        end = self.clocks.run(work, inputs, self.constants[number], free)
        spans: dict[str, list[tuple[float, float]]] = {}
        for unit, start, cycles in self.clocks.worked:
            spans.setdefault(unit, []).append((start, cycles))
        self.spans.append(spans)
        self.begins.append(max(inputs, self.constants[number]))
        self.steps.append(work.steps)
        self.ends.append(end)
        self.reached = max(self.reached, end)
        self.complete[self.network.tasks[number].result] = end

    def _free(self, number: int, constants: bool, during: int) -> float:
        """From when on loads may begin: there is memory, and cores have come to them."""
        before = self.code.freed.get((number, constants), -1)
        return max(self.ends[before] if before >= 0 else 0.0, self._reached(during))

    def _reached(self, number: int) -> float:
        """
        When cores have all but the last step of a task in the queues of their units (or all of the tasks before, where
        it has not run yet): all that does not fit into queues has begun.
        """
        if self.code.issued is None:
            return 0.0
        known = len(self.ends)
        counts = self.counts[min(number, known - 1)].astype(float) if known else np.zeros(self.counts.shape[1])
        if number < known:
            counts -= self.issued[number] / self.steps[number]
        time = 0.0
        for unit in np.flatnonzero(counts > self.chip.queue_depth).tolist():
            place = float(counts[unit]) - self.chip.queue_depth
            task = int(np.searchsorted(self.counts[:known, unit], place, side="right"))
            if task < known:
                own = float(self.issued[task, unit])
                share = 1 - (float(self.counts[task, unit]) - place) / own
                time = max(time, self._at(task, Unit(unit).name, share))
        return time

    def _at(self, task: int, unit: str, share: float) -> float:
        """When a unit has done a share of its instructions for a task: as it has of its cycles."""
        spans = self.spans[task].get(unit)
        if spans is None:
            return self.begins[task] + share * (self.ends[task] - self.begins[task])
        left = share * sum(cycles for _, cycles in spans)
        for start, cycles in spans:
            if left <= cycles:
                return start + left
            left -= cycles
        return self.ends[task]


def work_beside(work: TaskWork, together: bool, info: TaskInfo, plan: TaskPlan) -> TaskWork:
    """`work` if parts of the result are worked on where they stay (`together`), or in buffers of their own."""
    return work._replace(serial=together and parts_interleave(info, plan))


def exact_work(info: TaskInfo, plan: TaskPlan, chip: Chip) -> TaskWork:
    """What a task does; times of the exchange are those of its messages."""
    parts = gather_transfers(info, plan)
    if not parts:
        return plan.work
    times, crossing = follow(parts, chip)
    return plan.work._replace(
        gather=float(times[0]), arriving=float(times[-1] - times[0]), crossing=crossing, parts=len(parts)
    )
