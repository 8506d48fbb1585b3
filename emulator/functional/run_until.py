"""Runs that stop once a task has done its work, to look at memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...support.errors import InputError
from ..executable.executable import Executable
from ..executable.load import has_dynamic_loops
from ..machine.expand import REPLAY, Decisions, Sequencer, Stream
from ..machine.memory import Array
from .engine import run_functional
from .observer import Execute, LaunchView, Machine, Watch


class _Stopped(Exception):
    """The task has done its work."""


class _Breakpoint:
    """Stops after the last instruction of a task in the order in which the engine executes them."""

    def __init__(self, exe: Executable, task: str, decisions: Mapping[int, Decisions]) -> None:
        """`decisions`: those of a whole run, by start of a launch."""
        self.exe, self.task, self.decisions = exe, task, decisions
        self.runs = 0
        self.machine: Machine | None = None

    def launch(self, view: LaunchView) -> Watch | None:
        known = self.decisions.get(self.runs)
        self.runs += 1
        mine = view.words_of(self.exe, self.task)
        if not mine.any():
            return None
        code = view.code
        last = seen = 0
        chip = self.exe.chip
        for stream in Sequencer(code, chip.queue_depth, chip.semaphores, 1 << 40, REPLAY, known).chunks():
            at = np.flatnonzero(mine[code.base[stream.core] + stream.word])
            if len(at):
                last = seen + int(at[-1]) + 1
            seen += len(stream.core)
        if not last:
            return None  # no core comes to it
        left = last

        def watch(stream: Stream, execute: Execute) -> None:
            nonlocal left
            if left > len(stream.core):
                execute(stream)
                left -= len(stream.core)
                return
            execute(Stream(stream.core[:left], stream.word[:left], stream.address[:left]))
            self.machine = view.machine
            raise _Stopped

        return watch


def run_until(exe: Executable, inputs: Mapping[str, Array], task: str, check: bool = False) -> Machine:
    """
    Run `exe` on `inputs` until a task has executed its last instruction on the last core, and give the memories as they
    are then. Cores that do not wait for the task may be ahead of it, as the machine allows.

    Raises InputError for a task that no instruction was made for, else as `run_functional` does.
    """
    if task not in exe.source_names:
        raise InputError(f"no task '{task}': the executable's tasks are {', '.join(exe.source_names) or 'none'}")
    decisions: Mapping[int, Decisions] = {}
    if has_dynamic_loops(exe):
        decisions = run_functional(exe, inputs).mapped.decisions
    stop = _Breakpoint(exe, task, decisions)
    try:
        run_functional(exe, inputs, check, observer=stop)
    except _Stopped:
        pass
    if stop.machine is None:
        raise InputError(f"no instruction of task '{task}' runs: it has nothing to compute")
    return stop.machine
