"""
The cost of orders from compiled instruction streams (spec 3, step 3): the tasks are compiled once, the run gives a
profile of the units for each task, and the profiles are stacked in other orders. A new order takes microseconds, and no
compilation.

A profile is exact for the order that was compiled: the cycles in which each unit of the busiest core works for the
task, by the timing engine, contention included. For other orders it is a model, since tilings, distances and resident
values depend on the order; `emulated_cycles` is exact for one order and costs a compilation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...analysis.cost_graphs.graph import Ints
from ...analysis.orders.unit_profiles import UnitProfiles
from ...analysis.planning.task_profiles import estimated_profiles
from ...chips import Chip
from ...dialects.coreasm.encoding import NO_SOURCE, Unit
from ...dialects.dataflow.entry_function import find_main
from ...emulator.executable.executable import Executable
from ...emulator.timing.engine import Trace, run_timing
from ...support.errors import MeshloomError
from ...transforms.manycore_split_reductions import PARTS_SUFFIX
from ...transforms.shared.reorder import task_predecessors, tasks_of
from .compile_module import compile_module

QUEUES = 8
KEPT = 16
"""Number of compiled orders that are cached by content."""
_RUNS: OrderedDict[str, tuple[Executable, int, Trace]] = OrderedDict()


def emulated_cycles(module: ModuleOp, chip: Chip) -> int:
    """Cycles of a module of tasks in its present order, compiled and timed. Raises as compilation does."""
    return _run(module, chip)[1]


def measured_profiles(module: ModuleOp, chip: Chip) -> UnitProfiles:
    """
    The profiles of the tasks of @main, from the streams of their present order. The module is not changed.

    Raises MeshloomError if the network does not run as one launch with a stream for each task, otherwise as compilation
    does.
    """
    block = find_main(module).body.block
    tasks = tasks_of(block)
    estimate = estimated_profiles(tasks, task_predecessors(block), chip)
    executable, _, trace = _run(module, chip)
    names = [task.sym_name.data for task in tasks]
    task_of = _tasks_of_sources(executable.source_names, names)
    sources = np.full(len(trace.word), NO_SOURCE, np.int64)
    for number, program in enumerate(executable.programs):
        mine = trace.program == number
        own = program.sources[trace.word[mine]].astype(np.int64)
        sources[mine] = np.where(own == NO_SOURCE, NO_SOURCE, task_of[np.where(own == NO_SOURCE, 0, own)])
    known = sources != NO_SOURCE
    task, core, unit = sources[known], trace.core[known].astype(np.int64), trace.unit[known].astype(np.int64)
    start = trace.start[known]
    work = np.zeros((len(tasks), chip.cores, QUEUES), np.int64)
    np.add.at(work, (task, core, unit), trace.end[known] - start)
    begin = np.full((len(tasks), QUEUES), np.iinfo(np.int64).max)
    np.minimum.at(begin, (task, unit), start)
    units = [queue for queue in range(QUEUES) if queue != Unit.LOAD]
    busy = work.max(axis=1)
    offset = _offsets(begin[:, units], busy[:, units])
    return replace(
        estimate,
        unit_names=tuple(Unit(queue).name for queue in units),
        offset=offset,
        busy=busy[:, units],
        load=busy[:, Unit.LOAD],
    )


def _tasks_of_sources(sources: Sequence[str], names: Sequence[str]) -> Ints:
    """
    The task of each source of an executable: compilation may have split a task in two (`manycore-split-reductions`).

    Raises MeshloomError if it has changed more.
    """
    found: list[int] = []
    number = 0
    for source in sources:
        if number == len(names) or source not in (names[number], names[number] + PARTS_SUFFIX):
            break
        found.append(number)
        number += source == names[number]
    if len(found) < len(sources) or number < len(names):
        raise MeshloomError("the tasks do not run unchanged: the cost of other orders cannot be derived from streams")
    return np.array([*found, 0], np.int64)


def _offsets(begin: Ints, busy: Ints) -> Ints:
    """
    [tasks, units] when a unit begins, from the task's start: as observed, but no later than the end of all units that
    began before it. Time beyond that was a wait for earlier tasks, which may not occur in another order.
    """
    offset = np.zeros(begin.shape, np.int64)
    for task in range(len(begin)):
        before, first = 0, int(begin[task].min())
        for unit in np.argsort(begin[task], kind="stable"):
            if busy[task, unit]:
                offset[task, unit] = min(int(begin[task, unit]) - first, before)
                before += int(busy[task, unit])
    return offset


def _run(module: ModuleOp, chip: Chip) -> tuple[Executable, int, Trace]:
    key = sha256(f"{chip.fingerprint}\n{module}".encode()).hexdigest()
    if key not in _RUNS:
        executable = compile_module(module.clone(), chip).executable
        timing = run_timing(executable, trace=True)
        if timing.trace is None or len(executable.launches) != 1:
            raise MeshloomError("the network runs in several launches: order the tasks of each launch separately")
        _RUNS[key] = (executable, timing.cycles, timing.trace)
        while len(_RUNS) > KEPT:
            _RUNS.popitem(last=False)
    return _RUNS[key]
