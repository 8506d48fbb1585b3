"""
Tasks that share instructions after loop rerolling: the linker folds tasks that a network repeats into hardware loops,
whose instructions have the names of the first of these tasks. Without the order of execution (`execution_order.py`),
the results of such a task cannot be distinguished from those of the later ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import Unit
from ..executable.executable import Executable
from ..executable.task_results import TaskResult
from ..machine.expand import DATA
from ..machine.word_counts import word_counts
from .observer import LaunchView
from .result_region import regions_of
from .result_writes import result_writes


def tasks_with_shared_code(exe: Executable, view: LaunchView, places: Iterable[TaskResult]) -> set[str]:
    """The tasks of a launch whose results are written by other tasks' instructions, and the latter tasks."""
    mine = list(places)
    computes = (view.code.kind == DATA) & (view.code.unit != Unit.LOAD)
    words = {one.task: view.words_of(exe, one.task) for one in mine}
    writes = {one.task: {(core, word) for core, word, _ in result_writes(view, one, words[one.task])} for one in mine}
    found: set[str] = set()
    for one in mine:
        lacking = _cores_without(one, writes[one.task], computes & words[one.task], view)
        if not lacking:
            continue
        found.add(one.task)
        times = {core: word_counts(view.code, core).times for core in lacking}
        found |= {
            other.task
            for other in mine
            if (other.loop is None) == (one.loop is None)
            and any(core in lacking and times[core][word] > 1 for core, word in writes[other.task])
        }
    return found


def _cores_without(
    one: TaskResult, writes: set[tuple[int, int]], computing: NDArray[np.bool_], view: LaunchView
) -> set[int]:
    """The cores that have a part of a task's result, but no instruction of the task that could compute it."""
    ends = np.cumsum(view.code.length)
    own = {core for core, _ in writes} | set(np.searchsorted(ends, np.flatnonzero(computing), side="right").tolist())
    if one.grid is None:
        return set() if own or not one.nbytes else set(range(len(ends)))
    return {core for core, region in regions_of(one).items() if len(region.content)} - own
