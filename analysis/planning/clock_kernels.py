"""
The compiled kernels of the estimates: tasks run step by step on clocks of a core's units, the network and DRAM. All
times are in cycles.

- `clock` [5]: the times at which the units that compute, the network and DRAM become free;
- `rates` [4]: cycles before an exchange begins, after it has ended, of the network besides its bytes, and until data
  read from DRAM arrive;
- `task`: a `WORK` record;
- `crossing` [n, 2]: links that its exchanges share with reads from DRAM, as in `estimate.TaskWork`;
- `spans` [MAX_SPANS, 3]: (unit, start, cycles) of the work of units for a task, up to the number of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...dialects.coreasm.isa import Unit
from ...support.jit import Array, jit

UNITS = 3
"""Number of units that compute, which are the first ones of the instruction set."""
_VPU = int(Unit.VPU)
_NETWORK, _DRAM = UNITS, UNITS + 1
CLOCKS = UNITS + 2
STAGING = 2
"""
Number of buffers from which parts of a result are stored to DRAM: a part waits until the part that is STAGING before it
has been stored.
"""
SHARED = 2
"""Factor by which a store takes longer while cores load: a DRAM port serves both in order of arrival."""
EXAMINED_STEPS = 12
"""Number of steps that are run one by one; later steps take as long as the last of these."""
MAX_SPANS = 2 + 3 * EXAMINED_STEPS

_COUNTS = ("unit", "steps", "outputs", "serial", "parts", "early")
_FIELDS = (
    "unit", "root", "rest", "begun", "steps", "outputs", "prepare", "gather", "arriving", "constants", "values",
    "later", "passed_constants", "passed_values", "stored", "serial", "parts", "later_constants", "early",
)  # fmt: skip
WORK = np.dtype([(name, np.int64 if name in _COUNTS else np.float64) for name in _FIELDS])
"""The work of a task: the fields of its `StepWork`, and then of its `TaskWork`."""


class Tasks(NamedTuple):
    """The work of the tasks of a network, and the dependences between them."""

    works: Array
    """[tasks] WORK."""
    crossing: Array
    """[rows, 2]."""
    crossing_start: Array
    """[tasks + 1] first row of each task."""
    sources: Array
    """[reads] tasks whose results are operands."""
    source_start: Array
    """[tasks + 1] first read of each task."""


class Times(NamedTuple):
    """The starts of the loads of a network's tasks, and their dependences."""

    during: Array
    """[tasks] the task during which the first constants of each are loaded: itself, or an earlier one."""
    freed: Array
    """[tasks, 2] the last earlier task that uses the memory of its first loads (values, constants), or -1."""
    later: Array
    """The tasks whose first constants are loaded during an earlier one, sorted by that one."""
    later_start: Array
    """[tasks + 1] first entry of each task."""
    issued: Array
    """[tasks, units] instructions of the busiest core; [0, units]: queues of units are taken as unbounded."""
    counts: Array
    """Cumulative sums of `issued`."""
    queue_depth: int


class Run(NamedTuple):
    """The state of a run: times of the tasks that have run."""

    clock: Array
    constants: Array
    """[tasks] time at which the first constants are in the cores."""
    begins: Array
    """[tasks] time at which all operands are available."""
    ends: Array
    """[tasks]"""
    spans: Array
    """[tasks, MAX_SPANS, 3], or [1, 0, 3] if instructions are not known."""
    span_counts: Array
    """[tasks]"""


@jit
def _load(clock: Array, rates: Array, ready: float, cycles: float) -> float:
    """
    Read DRAM for `cycles` cycles, from `ready` on at the earliest. Returns the time at which all data have arrived.
    """
    if cycles == 0:
        return ready
    clock[_DRAM] = max(clock[_DRAM], ready) + cycles
    return clock[_DRAM] + rates[3]


@jit
def _send(clock: Array, rates: Array, ready: float, cycles: float, crossing: Array) -> float:
    """Exchange values for `cycles` cycles (of an idle network). Returns the time at which all data have arrived."""
    if cycles == 0:
        return ready
    start = max(clock[_NETWORK], ready + rates[0]) + rates[2]
    meanwhile, longest = max(0.0, clock[_DRAM] - start), cycles
    for row in range(len(crossing)):
        share, used = crossing[row]
        own = used * cycles
        beside = own + share * meanwhile
        longest = max(longest, beside if share >= 1 else min(beside, own / (1 - share)))
    clock[_NETWORK] = start + longest
    return clock[_NETWORK] + rates[1]


@jit
def _work(clock: Array, unit: int, ready: float, cycles: float, spans: Array, count: int) -> tuple[float, int]:
    """Keep a unit busy. Returns the time at which it is done, and the new number of spans."""
    start = max(clock[unit], ready)
    clock[unit] = start + cycles
    if count < len(spans):
        spans[count, 0], spans[count, 1], spans[count, 2] = unit, start, cycles
    return start + cycles, count + 1


@jit
def run_task(
    clock: Array, rates: Array, task: Any, crossing: Array, inputs: float, constants: float, free: float, spans: Array
) -> tuple[float, int]:
    """
    Run a task whose values are complete at `inputs`, and whose first constants are in the cores at `constants`. Returns
    the time at which its result is complete, and the number of spans. Its values from DRAM are loaded from `free` on at
    the earliest.
    """
    none, spanned = crossing[:0], 0
    steps, unit, early = task.steps, task.unit, task.early
    # For each step, the arrival of constants that are loaded earlier.
    arrivals = np.empty(early + min(steps, EXAMINED_STEPS))
    for step in range(early):
        arrivals[step] = constants - (early - 1 - step) * task.later_constants
    arrived_count = early
    loaded = max(_load(clock, rates, max(inputs, free), task.values), float(arrivals[0]))
    prepared = inputs
    if task.prepare:
        prepared, spanned = _work(clock, _VPU, inputs, task.prepare, spans, spanned)
    writable = prepared - task.prepare * (1 - 1 / task.parts) if task.parts else inputs
    gathered = _send(clock, rates, writable, task.gather, crossing)
    # Cores that load for others begin a step before the others have received its data: forwarding does not delay the
    # next load, whose buffer is free as soon as the loading core has begun the step.
    lead = max(loaded, prepared, gathered, float(clock[unit]))
    following = max(lead, _send(clock, rates, loaded, task.passed_values, none))
    each = steps // task.outputs
    begun = 0.0
    if task.begun:
        begun, spanned = _work(clock, _VPU, arrivals[0], task.begun, spans, spanned)
    start = end = lead
    examined = min(steps, EXAMINED_STEPS)
    ends = np.empty(examined)
    stored = np.zeros(STAGING + examined)
    stored_count = STAGING
    for number in range(examined):
        arrived = following
        if task.stored and number % each == 0:
            begun = max(begun, float(stored[stored_count - STAGING]))
        before, start = start, max(float(clock[unit]), arrived, begun)
        lead = min(start, max(lead + task.root, loaded, before) if number else lead)
        if number + 1 < steps:
            # Buffers for the data of the next step are free when the step before this one is complete.
            ready = lead if number else inputs
            if early == 1:
                loaded = _load(clock, rates, ready, task.later)
            else:
                loaded = _load(clock, rates, ready, task.later - task.later_constants)
                # The buffers of the previous step are free: for the step that is later by the number of buffers.
                if number and number + early <= steps:
                    arrivals[arrived_count] = _load(clock, rates, ready, task.later_constants)
                    arrived_count += 1
                loaded = max(loaded, float(arrivals[number + 1]))
            following = loaded
            if task.later:
                following = _send(clock, rates, loaded, task.passed_constants + task.passed_values, none)
            if task.arriving:
                following = max(following, _send(clock, rates, gathered, task.arriving / (steps - 1), crossing))
        done, spanned = _work(clock, unit, start, task.root, spans, spanned)
        if (number + 1) % each == 0:
            if task.begun and number + 1 < steps:
                begun, spanned = _work(clock, _VPU, following, task.begun, spans, spanned)
            if task.rest:
                done, spanned = _work(clock, _VPU, done, task.rest, spans, spanned)
                if task.serial:
                    clock[unit] = max(clock[unit], done)
            if task.stored:
                clock[_DRAM] += task.stored
                # Ports alternate between stores and loads: a store does not wait for all requested loads.
                done = max(done + task.stored, min(float(clock[_DRAM]), done + SHARED * task.stored))
                stored[stored_count] = done + rates[3]
                stored_count += 1
        end = max(end, done)
        ends[number] = end
    if steps > EXAMINED_STEPS:
        half = EXAMINED_STEPS // 2
        more = float(ends[-1] - ends[half - 1]) / half * (steps - EXAMINED_STEPS)
        end += more
        for one in range(UNITS):
            clock[one] += more
        if task.later > 0 or task.stored > 0:
            clock[_DRAM] += more
    return end, spanned


@jit
def run_each(rates: Array, works: Array, crossing: Array, starts: Array) -> Array:
    """
    [tasks] the time at which each task is complete if it runs in isolation from 0 on, with its first constants in the
    cores. `starts`: the rows of `crossing` of each.
    """
    ends, spans = np.empty(len(works)), np.empty((0, 3))
    for number in range(len(works)):
        own = crossing[starts[number] : starts[number + 1]]
        ends[number] = run_task(np.zeros(CLOCKS), rates, works[number], own, 0.0, 0.0, 0.0, spans)[0]
    return ends


@jit
def run_tasks(run: Run, first: int, last: int, tasks: Tasks, times: Times, rates: Array) -> None:
    """Run tasks `first` up to `last`, with the prefetches for other tasks."""
    for number in range(first, last):
        work = tasks.works[number]
        if times.during[number] == number:
            _load_first(run, number, number, number, tasks, times, rates)
        inputs = 0.0
        for row in range(tasks.source_start[number], tasks.source_start[number + 1]):
            inputs = max(inputs, float(run.ends[tasks.sources[row]]))
        free = inputs
        if work.values:
            free = max(inputs, _free(run, number, 0, number, number, tasks, times))
        crossing = tasks.crossing[tasks.crossing_start[number] : tasks.crossing_start[number + 1]]
        spans = run.spans[min(number, len(run.spans) - 1)]
        end, count = run_task(run.clock, rates, work, crossing, inputs, run.constants[number], free, spans)
        run.span_counts[number] = count
        run.begins[number] = max(inputs, run.constants[number])
        run.ends[number] = end
        for row in range(times.later_start[number], times.later_start[number + 1]):
            _load_first(run, times.later[row], number, number + 1, tasks, times, rates)


@jit
def _load_first(run: Run, task: int, during: int, known: int, tasks: Tasks, times: Times, rates: Array) -> None:
    """Load the first constants of a task during the last step of an earlier one, and multicast them."""
    work = tasks.works[task]
    there = _free(run, task, 1, during, known, tasks, times)
    there = _load(run.clock, rates, there, work.constants + (work.early - 1) * work.later_constants)
    if work.constants:
        there = _send(run.clock, rates, there, work.passed_constants, tasks.crossing[:0])
    run.constants[task] = there


@jit
def _free(run: Run, task: int, constants: int, during: int, known: int, tasks: Tasks, times: Times) -> float:
    """The earliest time of loads: their memory is free, and cores have issued them. `known`: tasks that have run."""
    before = times.freed[task, constants]
    return max(float(run.ends[before]) if before >= 0 else 0.0, _reached(run, during, known, tasks, times))


@jit
def _reached(run: Run, number: int, known: int, tasks: Tasks, times: Times) -> float:
    """
    The time at which cores have all but the last step of a task in the queues of their units (or all of the previous
    tasks, if it has not run yet): everything that does not fit into queues has begun.
    """
    time = 0.0
    if not len(times.issued) or not known:
        return time
    for unit in range(times.issued.shape[1]):
        count = float(times.counts[min(number, known - 1), unit])
        if number < known:
            count -= times.issued[number, unit] / tasks.works[number].steps
        if count <= times.queue_depth:
            continue
        position = count - times.queue_depth
        task, end = 0, known  # bisection for the first task up to which more have been issued
        while task < end:
            middle = (task + end) // 2
            if times.counts[middle, unit] <= position:
                task = middle + 1
            else:
                end = middle
        if task < known:
            share = 1 - (times.counts[task, unit] - position) / times.issued[task, unit]
            time = max(time, _at(run, task, unit, share))
    return time


@jit
def _at(run: Run, task: int, unit: int, share: float) -> float:
    """
    The time at which a unit has done a share of its instructions for a task, taken as the same share of its cycles.
    """
    spans, cycles, found = run.spans[task, : run.span_counts[task]], 0.0, False
    for row in range(len(spans)):
        if spans[row, 0] == unit:
            cycles += spans[row, 2]
            found = True
    if not found:
        return run.begins[task] + share * (run.ends[task] - run.begins[task])
    left = share * cycles
    for row in range(len(spans)):
        if spans[row, 0] == unit:
            if left <= spans[row, 2]:
                return spans[row, 1] + left
            left -= spans[row, 2]
    return run.ends[task]
