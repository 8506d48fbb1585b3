"""Local search over the starts of prefetches: they are moved where the estimated end of the network is earlier."""

from __future__ import annotations

from dataclasses import replace

from ...chips import Chip
from ..search import ACCEPT_RATIO
from .network_estimate import Code, TaskWorks, network_estimate
from .plan_network import NetworkPlan

SHIFTS = (-1, 1, 2)
"""Distances, in tasks, by which loads are moved."""
TRIALS = 200
"""Largest number of estimates."""


def shift_prefetch(network: NetworkPlan, code: Code, chip: Chip, known: TaskWorks) -> dict[int, int]:
    """
    `code.ahead` with loads a task earlier, or one or two later, if that reduces the estimate: multicasts between cores
    may delay an exchange, and values from DRAM wait for constants. Task by task, beginning with those whose loads
    coincide with tasks that are delayed most.
    """
    works = known.beside(code)
    times = network_estimate(code, chip, works)
    lost = [time - plan.cycles for time, plan in zip(times, network.plans, strict=True)]
    best, ahead, trials = sum(times), dict(code.ahead), 0
    for task in sorted(ahead, key=lambda task: (-max(lost[ahead[task] : task + 1]), task)):
        first = ahead[task]
        for start in (first + shift for shift in SHIFTS):
            if start < max(0, task - network.policy.max_distance) or start > task or trials == TRIALS:
                continue
            moved = {**ahead, task: start}
            if start == task:
                del moved[task]
            trials += 1
            cycles = sum(network_estimate(replace(code, ahead=moved), chip, works))
            if cycles < best * ACCEPT_RATIO:
                best, ahead = cycles, moved
    return dict(sorted(ahead.items()))
