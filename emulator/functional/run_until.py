"""Runs that stop when a task, or a step of the loop around it, is complete, to inspect the memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ..executable.executable import Executable
from ..executable.load import has_dynamic_loops
from ..executable.task_results import TaskResult
from ..machine.expand import REPLAY, Decisions, Sequencer, Stream
from ..machine.memory import Array, Bytes
from .engine import run_functional
from .observer import Execute, LaunchView, Machine, Watch
from .result_writes import StepClock, step_clock


class _Stopped(Exception):
    """The task is complete."""


class _Stop:
    """Observer that stops a run when a task is complete on its last core, in the engine's order of execution."""

    def __init__(
        self, exe: Executable, task: str, place: TaskResult | None, step: int, decisions: Mapping[int, Decisions]
    ) -> None:
        """
        `place`: if given, stop after step `step` of the loop around the task. `decisions`: those of a complete run, by
        the number of the run of a launch.
        """
        self.exe, self.task, self.place, self.step, self.decisions = exe, task, place, step, decisions
        self.runs = 0
        self.clock: StepClock | None = None
        self.machine: Machine | None = None

    def launch(self, view: LaunchView) -> Watch | None:
        known = self.decisions.get(self.runs)
        self.runs += 1
        mine = view.words_of(self.exe, self.task)
        if not mine.any() or (self.place is not None and view.number != self.place.launch):
            return None
        done = self._executions(view, mine, known) if self.place is None else self._steps(view, self.place, mine)
        srams: dict[int, Bytes] = {}

        def watch(stream: Stream, execute: Execute) -> None:
            flat, begin = view.code.base[stream.core] + stream.word, 0
            for at in np.flatnonzero(mine[flat]).tolist():
                core = int(stream.core[at])
                if core in srams or not done.executed(core, int(flat[at])):
                    continue
                execute(stream.part(begin, at + 1))
                begin = at + 1
                srams[core] = view.machine.srams[core].copy()  # from now on, this core may run ahead of the others
                if done.cores <= srams.keys():
                    memories = [srams.get(core, sram) for core, sram in enumerate(view.machine.srams)]
                    self.machine = Machine(memories, view.machine.dram)
                    raise _Stopped
            execute(stream.part(begin, len(stream.core)))

        return watch

    def _executions(self, view: LaunchView, mine: NDArray[np.bool_], known: Decisions | None) -> _Executions:
        code, chip = view.code, self.exe.chip
        left: Counter[int] = Counter()
        for stream in Sequencer(code, chip.queue_depth, chip.semaphores, 1 << 40, REPLAY, known).chunks():
            left.update(stream.core[mine[code.base[stream.core] + stream.word]].tolist())
        return _Executions(left)

    def _steps(self, view: LaunchView, place: TaskResult, mine: NDArray[np.bool_]) -> _Steps:
        self.clock = step_clock(view, place, mine)
        if self.clock is None:
            raise InputError(
                f"the steps of task '{self.task}' cannot be distinguished: they differ in their numbers of instructions"
            )
        return _Steps(self.clock, self.step)


class _Executions:
    """A task is complete after its last instruction."""

    def __init__(self, left: Counter[int]) -> None:
        """`left`: number of executions of the task's instructions on each core."""
        self.left, self.cores = left, set(left)

    def executed(self, core: int, flat: int) -> bool:
        """Count the execution of a task's instruction. Returns whether the task is complete on this core."""
        self.left[core] -= 1
        return not self.left[core]


class _Steps:
    """A task is complete after the write that completes its result in a step."""

    def __init__(self, clock: StepClock, step: int) -> None:
        self.clock, self.step, self.cores = clock, step, clock.cores

    def executed(self, core: int, flat: int) -> bool:
        """See `_Executions`."""
        return self.clock.step(flat) is not None and self.clock.completed(core) > self.step


def run_until(
    exe: Executable,
    inputs: Mapping[str, Array],
    task: str,
    check: bool = False,
    step: int | None = None,
    places: Sequence[TaskResult] = (),
) -> Machine:
    """
    Run `exe` on `inputs` until a task is complete on its last core. Returns the memories: of each core that executes a
    part of the task, the memory when this part was complete; of other cores and of DRAM, the memory at the end.

    The task is complete after its last instruction or, if a step of the loop around the task is given, after the write
    that completes its result in this step; `places` has the location of the result.

    Raises InputError for a task without instructions, and for a step that is not executed; otherwise as
    `run_functional` does.
    """
    if task not in exe.source_names:
        raise InputError(f"no task '{task}': the executable's tasks are {', '.join(exe.source_names) or 'none'}")
    decisions: Mapping[int, Decisions] = {}
    if has_dynamic_loops(exe):
        decisions = run_functional(exe, inputs).mapped.decisions
    place = None if step is None else next((one for one in places if one.task == task and one.loop is not None), None)
    stop = _Stop(exe, task, place, step or 0, decisions)
    try:
        run_functional(exe, inputs, check, observer=stop)
    except _Stopped:
        pass
    if stop.machine is not None:
        return stop.machine
    if place is not None and stop.clock is not None:
        steps = min((stop.clock.completed(core) for core in stop.clock.cores), default=0)
        raise InputError(f"task '{task}' has no step {step} with these inputs: it runs {_times(steps)}")
    raise InputError(f"no instruction of task '{task}' runs: it has nothing to compute")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
