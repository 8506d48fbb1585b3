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
    spans, span_counts = np.empty((1, 0, 3)), np.zeros(count, np.int64)
    later, later_start = np.empty(count, np.int64), np.empty(count + 1, np.int64)
    moved = Times(times.during, times.freed, later, later_start, times.issued, times.counts, times.queue_depth)
    # The clocks before each task, and the times of all tasks, of the starts so far and of those that are tried.
    clocks, tried_clocks = np.zeros((count, CLOCKS)), np.zeros((count, CLOCKS))
    state, tried_state = np.zeros((3, count)), np.zeros((3, count))
    _sort_by_start(moved)
    _run(0, clocks, state, spans, span_counts, tasks, moved, rates)
    for task in order:
        first = times.during[task]
        for shift in shifts:
            start = first + shift
            if start < max(0, task - max_distance) or start > task or trials == most:
                continue
            trials += 1
            before = times.during[task]
            times.during[task] = start
            _sort_by_start(moved)
            changed = int(min(before, start))  # earlier tasks take the same time
            tried_clocks[: changed + 1], tried_state[:] = clocks[: changed + 1], state
            _run(changed, tried_clocks, tried_state, spans, span_counts, tasks, moved, rates)
            cycles = np.rint(tried_state[2].max() + latency)
            if cycles < best * accept:
                best = cycles
                clocks[changed:], state[:] = tried_clocks[changed:], tried_state
            else:
                times.during[task] = before


@jit
def _run(
    begin: int,
    clocks: Array,
    state: Array,
    spans: Array,
    span_counts: Array,
    tasks: Tasks,
    times: Times,
    rates: Array,
) -> None:
    """Run all tasks from `begin` on; `clocks` and `state` have the times of those before it."""
    clock = clocks[begin].copy()
    run = Run(clock, state[0], state[1], state[2], spans, span_counts)
    for number in range(begin, len(clocks)):
        clocks[number] = clock
        run_tasks(run, number, number + 1, tasks, times, rates)


@jit
def _sort_by_start(times: Times) -> None:
    """Write the tasks with loads during an earlier one, in the order of that one, to `times.later`."""
    count, start = len(times.during), times.later_start
    start[:] = 0
    for number in range(count):
        if times.during[number] < number:
            start[times.during[number] + 1] += 1
    for number in range(count):
        start[number + 1] += start[number]
    for number in range(count):
        if times.during[number] < number:
            times.later[start[times.during[number]]] = number
            start[times.during[number]] += 1
    for number in range(count, 0, -1):
        start[number] = start[number - 1]
    start[0] = 0
