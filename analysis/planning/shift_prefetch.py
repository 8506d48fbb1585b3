"""Local search over the starts of prefetches by the estimated end of the network."""

from __future__ import annotations

import numpy as np

from ...chips import Chip
from ...support.jit import Array, jit
from ..search import ACCEPT_RATIO
from .clock_kernels import CLOCKS, Run, Tasks, Times, run_tasks
from .network_estimate import Code, TaskWorks, estimate_rates, estimate_times, network_estimate
from .network_plan import NetworkPlan

SHIFTS = (-1, 1, 2)
"""Distances, in tasks, by which loads are moved."""
TRIALS = 200
"""Largest number of estimates."""


def shift_prefetch(network: NetworkPlan, code: Code, chip: Chip, known: TaskWorks) -> dict[int, int]:
    """
    `code.prefetch_from` with loads one task earlier, or one or two later, where that reduces the estimate: multicasts
    between cores may delay an exchange, and values from DRAM wait for constants. Tasks are tried one by one, beginning
    with those whose loads run during the tasks that are delayed most. The number of instructions (`code.issued`) is not
    known yet.
    """
    works = known.beside(code)
    times = network_estimate(code, chip, works)
    lost = [time - plan.cycles for time, plan in zip(times, network.plans, strict=True)]
    prefetch_from = code.prefetch_from
    order = sorted(prefetch_from, key=lambda task: (-max(lost[prefetch_from[task] : task + 1]), task))
    starts = estimate_times(code, chip, len(network.tasks))
    _shift(
        np.array(order, np.int64), np.array(SHIFTS), network.policy.max_distance, TRIALS, float(sum(times)),
        ACCEPT_RATIO, float(chip.dram_latency), works, starts, estimate_rates(chip),
    )  # fmt: skip
    during: list[int] = starts.during.tolist()
    return {task: start for task, start in enumerate(during) if start != task}


@jit
def _shift(
    order: Array,
    shifts: Array,
    max_distance: int,
    most: int,
    best: float,
    accept: float,
    latency: float,
    tasks: Tasks,
    times: Times,
    rates: Array,
) -> None:
    """
    Move the loads of tasks, in this order, in `times.during`. `best` is the estimate so far; a move is accepted if the
    estimate is below `accept` times this. `latency`: cycles after the end of a run until its last store has arrived.
    """
    count, trials = len(times.during), 0
    later, later_start = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    state, spans, span_counts = np.empty((3, count)), np.empty((1, 0, 3)), np.zeros(count, np.int64)
    for task in order:
        first = times.during[task]
        for shift in shifts:
            start = first + shift
            if start < max(0, task - max_distance) or start > task or trials == most:
                continue
            trials += 1
            before = times.during[task]
            times.during[task] = start
            # The tasks with loads during an earlier one, in the order of that one.
            later_start[:] = 0
            for number in range(count):
                if times.during[number] < number:
                    later_start[times.during[number] + 1] += 1
            for number in range(count):
                later_start[number + 1] += later_start[number]
            for number in range(count):
                if times.during[number] < number:
                    later[later_start[times.during[number]]] = number
                    later_start[times.during[number]] += 1
            for number in range(count, 0, -1):
                later_start[number] = later_start[number - 1]
            later_start[0] = 0
            moved = Times(times.during, times.freed, later, later_start, times.issued, times.counts, times.queue_depth)
            state[:] = 0
            run = Run(np.zeros(CLOCKS), state[0], state[1], state[2], spans, span_counts)
            run_tasks(run, 0, count, tasks, moved, rates)
            cycles = np.rint(state[2].max() + latency)
            if cycles < best * accept:
                best = cycles
            else:
                times.during[task] = before
