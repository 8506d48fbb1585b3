"""Estimated cycles of a planned network: all tasks in turn on the clocks of `estimate`, with prefetch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.coreasm.isa import Unit
from ..tasks.task_info import TaskInfo
from .clock_kernels import CLOCKS, MAX_SPANS, Run, Tasks, Times, run_tasks
from .estimate import TaskWork, clock_rates, task_arrays
from .exchange_time import credit_cycles, follow
from .gather_schedule import gather_transfers
from .interleaved import parts_interleave
from .network_plan import NetworkPlan
from .task_plan import TaskPlan

T = TypeVar("T")


@dataclass(frozen=True)
class Code:
    """Facts about a network's layout and code that are not in its plan."""

    prefetch_from: Mapping[int, int]
    """Task -> the earlier task during which its first constants are loaded (see `prefetch_starts`)."""
    apart: Collection[int]
    """Tasks that compute parts of their results in staging buffers (see `interleaved`)."""
    freed: Mapping[tuple[int, bool], int]
    """(task, constants or not) -> the last earlier task that uses the memory of its first loads; none: -1."""
    issued: NDArray[np.int64] | None = None
    """[tasks, units] instructions of the busiest core; None: queues of units are taken as unbounded."""
    multi_buffered: Mapping[int, int] = field(default_factory=dict[int, int])
    """Task -> number of its first steps whose constants are loaded together, if it is not 1 (see `multi_buffering`)."""


class TaskWorks:
    """The work of the tasks of a network; the times of their exchanges are computed once."""

    def __init__(self, network: NetworkPlan) -> None:
        self._network = network
        self._known: dict[Hashable, Any] = {}
        tasks = list(zip(network.tasks, network.plans, strict=True))
        works = [exact_work(info, plan) for info, plan in tasks]
        self._interleave = np.array([parts_interleave(info, plan) for info, plan in tasks], np.bool_)
        number_of = {info.result: number for number, info in enumerate(network.tasks)}
        sources = [[number_of[value] for value in values if value in number_of] for values in network.roots]
        arrays, crossing = task_arrays(works)
        self._tasks = Tasks(
            arrays, crossing, _starts([len(work.crossing) for work in works]),
            np.array(list(chain.from_iterable(sources)), np.int64), _starts([len(own) for own in sources]),
        )  # fmt: skip

    def are_of(self, network: NetworkPlan) -> bool:
        """Whether this is the work of a network: that of the same plans of the same tasks, whatever its prefetch."""
        known = self._network
        return len(known.plans) == len(network.plans) and all(
            one is other
            for one, other in zip((*known.tasks, *known.plans), (*network.tasks, *network.plans), strict=True)
        )

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, cached: variants of a network that differ in prefetch share it where `key` is equal."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    def beside(self, code: Code) -> Tasks:
        """The work with the staging buffers and prefetched constants of `code`."""
        works = self._tasks.works.copy()
        works["serial"] = self._interleave
        works["serial"][list(code.apart)] = 0
        for task, steps in code.multi_buffered.items():
            works["early"][task] = steps
        return self._tasks._replace(works=works)


def network_estimate(code: Code, chip: Chip, tasks: Tasks) -> list[int]:
    """
    By task, the cycles by which it ends later than all before it: their sum is the estimate of the run. `tasks`: their
    work, from `TaskWorks`.
    """
    run = NetworkRun(code, chip, tasks)
    run.finish()
    ends = np.maximum.accumulate(run.ends)
    ends[-1:] += chip.dram_latency  # the last store has to arrive
    return np.diff(np.rint(ends), prepend=0.0).astype(np.int64).tolist()


class NetworkRun:
    """Runs tasks on the clocks one after another, from the first of the network on. All times are in cycles."""

    def __init__(self, code: Code, chip: Chip, tasks: Tasks) -> None:
        self._tasks, self._times = tasks, estimate_times(code, chip, len(tasks.works))
        self._rates = estimate_rates(chip)
        count = len(tasks.works)
        spans = np.empty((count, MAX_SPANS, 3) if code.issued is not None else (1, 0, 3))
        constants, begins, ends = np.zeros((3, count))
        self._run = Run(np.zeros(CLOCKS), constants, begins, ends, spans, np.zeros(count, np.int64))
        self._known = 0
        # For `advance`, shared by forks: a run reads nothing there of tasks before the current one, whose work is
        # written directly before.
        self._advanced = tasks._replace(works=tasks.works.copy(), crossing_start=np.zeros_like(tasks.crossing_start))
        self.reached = 0.0
        """The end of all tasks so far."""

    @property
    def ends(self) -> NDArray[np.float64]:
        """[tasks] end of each task that has run."""
        return self._run.ends

    def fork(self) -> NetworkRun:
        """An independent copy of the run."""
        run = copy(self)
        run._run = Run(*(array.copy() for array in self._run))
        return run

    def advance(self, work: TaskWork) -> None:
        """
        Run the next task with this `work`, and the prefetches for other tasks, if instructions are not known
        (`Code.issued`).
        """
        number, tasks = self._known, self._advanced
        own, crossing = task_arrays([work])
        tasks.works[number] = own[0]
        tasks.crossing_start[number], tasks.crossing_start[number + 1] = 0, len(crossing)
        run_tasks(self._run, number, number + 1, tasks._replace(crossing=crossing), self._times, self._rates)
        self.reached = max(self.reached, float(self._run.ends[number]))
        self._known += 1

    def finish(self) -> None:
        """Run all remaining tasks."""
        run_tasks(self._run, self._known, len(self._tasks.works), self._tasks, self._times, self._rates)


def estimate_rates(chip: Chip) -> NDArray[np.float64]:
    """The `rates` of runs of whole networks (see `clock_kernels`)."""
    return clock_rates(chip, credit_cycles(chip), 2.0, 0.0)


def estimate_times(code: Code, chip: Chip, count: int) -> Times:
    """`Times` of the loads of `count` tasks."""
    during = np.arange(count)
    during[list(code.prefetch_from)] = list(code.prefetch_from.values())
    later = np.flatnonzero(during < np.arange(count))
    later = later[np.argsort(during[later], kind="stable")]
    freed = np.full((count, 2), -1)
    for (task, constants), before in code.freed.items():
        freed[task, int(constants)] = before
    issued = np.zeros((0, len(Unit)), np.int64) if code.issued is None else code.issued
    starts = np.searchsorted(during[later], np.arange(count + 1))
    return Times(during, freed, later, starts, issued, np.cumsum(issued, axis=0), chip.queue_depth)


def _starts(counts: Sequence[int]) -> NDArray[np.int64]:
    """Offsets of the rows of each entry, and their end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))])


def work_beside(work: TaskWork, together: bool, info: TaskInfo, plan: TaskPlan) -> TaskWork:
    """`work` if parts of the result are computed in place (`together`), or in staging buffers."""
    return work._replace(serial=together and parts_interleave(info, plan))


def exact_work(info: TaskInfo, plan: TaskPlan) -> TaskWork:
    """The work of a task, with the times of its exchange from its messages."""
    return plan.once("exact work", lambda: _exact_work(info, plan))


def _exact_work(info: TaskInfo, plan: TaskPlan) -> TaskWork:
    parts = gather_transfers(info, plan)
    if not parts:
        return plan.work
    times, crossing = follow(parts, plan.chip)
    return plan.work._replace(
        gather=float(times[0]), arriving=float(times[-1] - times[0]), crossing=crossing, parts=len(parts)
    )
