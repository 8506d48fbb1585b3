"""Sums over the trace of a run: utilisation of the units over time, and cycles of each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import QUEUES
from ...emulator.executable.executable import Executable
from ...emulator.timing.engine import TimingResult, Trace
from ...emulator.timing.tables import build_tables

LONGEST = 1 << 25
"""Largest number of instructions of a run that is traced for a report: about 1 GB of memory."""


def busy_time(start: NDArray[np.int64], end: NDArray[np.int64], total: int, bins: int) -> NDArray[np.float64]:
    """
    The total length of the intervals [start, end) within each of `bins` equal parts of [0, total).

    The time covered up to t is the sum of t - start over the starts before t, less the same over the ends.
    """
    edges = np.arange(bins + 1) * (total / bins)

    def covered(times: NDArray[np.int64]) -> NDArray[np.float64]:
        position = np.clip(times * bins // max(total, 1), 0, bins - 1)
        count = np.bincount(position, minlength=bins).astype(np.float64)
        sums = np.bincount(position, weights=times, minlength=bins)
        before = [np.concatenate([np.zeros(1), np.cumsum(column)]) for column in (count, sums)]
        return np.asarray(edges * before[0] - before[1], np.float64)

    return np.diff(covered(start) - covered(end)) if total else np.zeros(bins)


@dataclass(frozen=True)
class TaskTime:
    """A task in a run; cycles count from the start of the controller's program."""

    number: int
    """Position in the schedule."""
    name: str
    start: int
    """Start of its first instruction, which may be a load ahead of its turn."""
    end: int
    """End of its last instruction on any core."""
    takes: int
    """Cycles of its launch by which the end of this task is later than that of all tasks before it."""
    waits: int
    """Cycles before the launch without any launch running, for host copies. The sum with `takes` is that of the run."""
    busy: tuple[int, ...]
    """Cycles in which units work on it, by unit, over all cores."""


def task_times(exe: Executable, timing: TimingResult, trace: Trace) -> list[TaskTime]:
    """The tasks with instructions, in the order of the schedule, and last "" for instructions without a task."""
    source = _source_of_entries(exe, trace)
    count = len(exe.source_names) + 1
    lane = source.astype(np.int64) * QUEUES + trace.unit
    busy = np.bincount(lane, weights=trace.end - trace.start, minlength=count * QUEUES).reshape(count, QUEUES)
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, -1, np.int64)
    np.minimum.at(first, source, trace.start)
    np.maximum.at(last, source, trace.end)
    starts = np.array([start for _, start, _ in timing.launches] or [0], np.int64)
    reached = int(starts[0])
    found: list[TaskTime] = []
    for index, name in enumerate([*exe.source_names, ""]):
        if last[index] < 0 or (not name and not busy[index].any()):
            continue
        begun = int(starts[max(int(np.searchsorted(starts, int(first[index]), side="right")) - 1, 0)])
        waits = max(begun - reached, 0)
        takes = max(int(last[index]) - reached - waits, 0)
        reached += waits + takes
        row = tuple(int(cycles) for cycles in busy[index])
        found.append(TaskTime(index, name, int(first[index]), int(last[index]), takes, waits, row))
    return found


def _source_of_entries(exe: Executable, trace: Trace) -> NDArray[Any]:
    """Number of the source of every entry; the number after the last one means none."""
    lengths = [len(program.words) for program in exe.programs]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    sources = np.concatenate([program.sources for program in exe.programs])
    known = np.minimum(sources, len(exe.source_names)).astype(np.int32)
    return known[starts[trace.program] + trace.word]


def lanes_over_time(timing: TimingResult, trace: Trace, bins: int, core: int | None = None) -> NDArray[np.float64]:
    """
    [units, bins] cycles in which a unit is busy in each of `bins` parts of the whole run with its host copies, for one
    core or summed over all.
    """
    total = timing.total_cycles
    result = np.zeros((QUEUES, bins))
    for unit in range(QUEUES):
        chosen = trace.unit == unit
        if core is not None:
            chosen &= trace.core == core
        if chosen.any():
            result[unit] = busy_time(trace.start[chosen], trace.end[chosen], total, bins)
    return result


def is_traceable(exe: Executable) -> bool:
    """Whether a run has few enough instructions for a trace (of all launches together)."""
    executed = sum(int(build_tables(exe, launch).instructions()[:, :QUEUES].sum()) for launch in exe.launches)
    return executed <= LONGEST
