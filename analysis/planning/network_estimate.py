"""Estimated cycles of a planned network: all tasks in turn on the clocks of `estimate`, loads ahead of their turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from xdsl.ir import SSAValue

from ...chips import Chip
from ..task_info import TaskInfo
from .estimate import Clocks, TaskWork
from .exchange_time import arrival_times, credit_cycles
from .gather_schedule import gather_transfers
from .interleaved import parts_interleave
from .plan_network import NetworkPlan, storage_root
from .plan_task import TaskPlan


def network_estimate(network: NetworkPlan, ahead: Mapping[int, int], apart: Collection[int], chip: Chip) -> list[int]:
    """
    By task, the cycles by which it ends later than all before it: their sum is the estimate of the run.

    `ahead`: task -> the earlier task during which its first constants are loaded (see `load_ahead`). `apart`: tasks
    that work on parts of their results in buffers of their own (see `interleaved`).
    """
    clocks = Clocks(chip, before=credit_cycles(chip), after=2.0, message=0.0)
    works = [
        _work(info, plan, number in apart, chip)
        for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True))
    ]
    later: dict[int, list[int]] = {}
    for task, start in ahead.items():
        later.setdefault(start, []).append(task)
    complete: dict[SSAValue, float] = {}
    constants: dict[int, float] = {}
    reached = [0.0]
    """Ends of all tasks so far, the latest last, from the start on."""

    def load(task: int, ready: float) -> None:
        """Load the first constants of a task, and pass them on."""
        work = works[task]
        there = clocks.load(ready, work.constants)
        constants[task] = clocks.send(there, work.passed_constants) if work.constants else there

    for number, info in enumerate(network.tasks):
        if number not in ahead:
            load(number, reached[-1])
        inputs = max((complete.get(storage_root(value), 0.0) for value in info.operands), default=0.0)
        end = clocks.run(works[number], inputs, constants[number])
        for task in later.get(number, ()):
            # Cores do not wait for each other to load: they come to it while others are at the task before.
            load(task, reached[-2] if number else 0.0)
        complete[info.result] = end
        reached.append(max(reached[-1], end))
    # What is stored last has to arrive.
    reached[-1] += chip.dram_latency
    return [round(end) - round(start) for start, end in pairwise(reached)]


def _work(info: TaskInfo, plan: TaskPlan, apart: bool, chip: Chip) -> TaskWork:
    """What a task does; times of the exchange are those of its messages."""
    work = plan.work._replace(serial=not apart and parts_interleave(info, plan))
    parts = gather_transfers(info, plan)
    if not parts:
        return work
    times = arrival_times(parts, chip)
    return work._replace(gather=float(times[0]), arriving=float(times[-1] - times[0]))
