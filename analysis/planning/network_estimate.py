"""Estimated cycles of a planned network: all tasks in turn on the clocks of `estimate`, loads ahead of their turn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from xdsl.ir import SSAValue

from ...chips import Chip
from .estimate import Clocks
from .plan_network import NetworkPlan, storage_root


def network_estimate(network: NetworkPlan, ahead: Mapping[int, int], chip: Chip) -> list[int]:
    """
    By task, the cycles by which it ends later than all before it: their sum is the estimate of the run.

    `ahead`: task -> the earlier task during which its first constants are loaded (see `load_ahead`).
    """
    clocks = Clocks(chip)
    later: dict[int, list[int]] = {}
    for task, start in ahead.items():
        later.setdefault(start, []).append(task)
    complete: dict[SSAValue, float] = {}
    constants: dict[int, float] = {}
    reached = [0.0]
    """Ends of all tasks so far, the latest last, from the start on."""

    def load(task: int, ready: float) -> None:
        """Load the first constants of a task, and pass them on."""
        work = network.plans[task].work
        there = clocks.load(ready, work.constants)
        constants[task] = clocks.send(there, work.passed_constants) if work.constants else there

    for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True)):
        if number not in ahead:
            load(number, reached[-1])
        inputs = max((complete.get(storage_root(value), 0.0) for value in info.operands), default=0.0)
        end = clocks.run(plan.work, inputs, constants[number])
        for task in later.get(number, ()):
            # Cores do not wait for each other to load: they come to it while others are at the task before.
            load(task, reached[-2] if number else 0.0)
        complete[info.result] = end
        reached.append(max(reached[-1], end))
    # What is stored last has to arrive.
    reached[-1] += chip.dram_latency
    return [round(end) - round(start) for start, end in pairwise(reached)]
