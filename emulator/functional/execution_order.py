"""
The task of each executed instruction of a launch.

The linker makes one loop of repeated instructions, and one program of equal instructions of several cores, so that the
name of a word may be that of another task. But each unit of a core executes the instructions of the tasks in the same
order as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..executable.executable import Executable
from ..machine.expand import DATA, Code, Sequencer, Stream
from ..machine.word_counts import word_counts
from .observer import LaunchView

UNITS = 8
"""Number of units of a core, as far as the sequencer distinguishes them."""


@dataclass(frozen=True)
class UnitOrder:
    """The tasks of the instructions of one unit of a core, as runs of instructions of the same task."""

    tasks: NDArray[np.int32]
    """[runs] numbers of tasks; -1: no task."""
    ends: NDArray[np.int64]
    """[runs] number of instructions up to the end of each run."""


@dataclass(frozen=True)
class ExecutionOrder:
    """The tasks of all instructions of units (kind `DATA`) that a launch executes."""

    names: tuple[str, ...]
    """Names of the tasks, by number."""
    units: Mapping[tuple[int, int], UnitOrder]
    """By core and unit."""
    executions: Mapping[tuple[int, int, int], int]
    """Number of executed instructions by task, core and operation code."""


@dataclass
class TaskCounter:
    """Determines the tasks of a stream, chunk by chunk."""

    order: ExecutionOrder
    code: Code
    done: NDArray[np.int64] = field(init=False)
    """[cores * UNITS] number of executed instructions."""

    def __post_init__(self) -> None:
        self.done = np.zeros(len(self.code.base) * UNITS, np.int64)

    def tasks(self, stream: Stream) -> NDArray[np.int32]:
        """[n] the task of each instruction of the next chunk; -1: none."""
        flat = self.code.base[stream.core] + stream.word
        found = np.full(len(flat), -1, np.int32)
        data = np.flatnonzero(self.code.kind[flat] == DATA)
        queue = stream.core[data].astype(np.int64) * UNITS + self.code.unit[flat[data]]
        data = data[np.argsort(queue, kind="stable")]
        keys, counts = np.unique(queue, return_counts=True)
        for key, count, end in zip(keys.tolist(), counts.tolist(), np.cumsum(counts).tolist(), strict=True):
            unit = self.order.units[divmod(key, UNITS)]
            numbers = np.arange(count, dtype=np.int64) + self.done[key]
            found[data[end - count : end]] = unit.tasks[np.searchsorted(unit.ends, numbers, side="right")]
            self.done[key] += count
        return found


@dataclass(frozen=True)
class TaskWords:
    """The words of a launch, [words of all cores], by the tasks that they are executed for."""

    words: Mapping[str, NDArray[np.bool_]]
    """The words that are executed for a task, by its name."""
    mixed: NDArray[np.bool_]
    """Words that are executed for several tasks."""


def task_words(exe: Executable, view: LaunchView, order: ExecutionOrder) -> TaskWords | None:
    """The words of each task; None if the units execute other numbers of instructions than the order has."""
    if _executed(view.code) != {key: int(unit.ends[-1]) for key, unit in order.units.items() if len(unit.ends)}:
        return None
    counter = TaskCounter(order, view.code)
    seen = np.zeros((len(order.names), len(view.code.kind)), np.bool_)
    for stream in Sequencer(view.code, exe.chip.queue_depth, exe.chip.semaphores).chunks():
        tasks = counter.tasks(stream)
        named = tasks >= 0
        seen[tasks[named], (view.code.base[stream.core] + stream.word)[named]] = True
    return TaskWords(dict(zip(order.names, seen, strict=True)), seen.sum(axis=0) > 1)


def _executed(code: Code) -> dict[tuple[int, int], int] | None:
    """The number of executed instructions by core and unit; None if it depends on values."""
    found: dict[tuple[int, int], int] = {}
    for core, (base, length) in enumerate(zip(code.base.tolist(), code.length.tolist(), strict=True)):
        counts = word_counts(code, core)
        if counts.dynamic.any():
            return None
        times = np.where(code.kind[base : base + length] == DATA, counts.times, 0)
        totals = np.bincount(code.unit[base : base + length], weights=times, minlength=UNITS)
        found.update({(core, unit): int(total) for unit, total in enumerate(totals) if total})
    return found
