"""Runs that stop once a task has done its work, or that of a step of a loop, to look at memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

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
    """The task has done its work."""


class _Stop:
    """Stops after the work of a task on its last core, in the order in which the engine executes instructions."""

    def __init__(
        self, exe: Executable, task: str, place: TaskResult | None, step: int, decisions: Mapping[int, Decisions]
    ) -> None:
        """
        With a place, stop after this step of the loop around the task. `decisions`: those of a whole run, by start of a
        launch.
        """
        self.exe, self.task, self.place, self.step, self.decisions = exe, task, place, step, decisions
        self.runs = self.steps = 0
        self.machine: Machine | None = None

    def launch(self, view: LaunchView) -> Watch | None:
        known = self.decisions.get(self.runs)
        self.runs += 1
        if self.place is not None and view.number != self.place.launch:
            return None
        ends = self._ends(view, known)
        if not ends:
            return None  # no core comes to it
        core_of = {position: core for core, position in ends.items()}
        last, seen = max(core_of), 0
        srams: dict[int, Bytes] = {}

        def watch(stream: Stream, execute: Execute) -> None:
            nonlocal seen
            begin, done = seen, 0
            seen += len(stream.core)
            for position in sorted(one for one in core_of if begin < one <= seen):
                execute(stream.part(done, position - begin))
                done = position - begin
                # From now on, this core may be ahead of the others.
                srams[core_of[position]] = view.machine.srams[core_of[position]].copy()
                if position == last:
                    memories = [srams.get(core, sram) for core, sram in enumerate(view.machine.srams)]
                    self.machine = Machine(memories, view.machine.dram)
                    raise _Stopped
            execute(stream.part(done, len(stream.core)))

        return watch

    def _ends(self, view: LaunchView, known: Decisions | None) -> dict[int, int]:
        """Core -> how many instructions the engine has executed when the work of the task is done there."""
        mine = view.words_of(self.exe, self.task)
        if not mine.any():
            return {}
        clock = None if self.place is None else step_clock(self.exe, view, self.place)
        if self.place is not None and clock is None:
            raise InputError(
                f"the steps of task '{self.task}' cannot be told apart: its instructions are not as many in each"
            )
        code, chip, seen = view.code, self.exe.chip, 0
        found: dict[int, int] = {}
        for stream in Sequencer(code, chip.queue_depth, chip.semaphores, 1 << 40, REPLAY, known).chunks():
            flat = code.base[stream.core] + stream.word
            for at in np.flatnonzero(mine[flat]).tolist():
                core = int(stream.core[at])
                if clock is None:
                    found[core] = seen + at + 1
                else:
                    self._advance(clock, core, int(flat[at]), seen + at + 1, found)
            seen += len(stream.core)
        if clock is None:
            return found
        self.steps = min((clock.completed(core) for core in clock.cores), default=0)
        return found if self.steps > self.step else {}

    def _advance(self, clock: StepClock, core: int, flat: int, position: int, found: dict[int, int]) -> None:
        if clock.step(flat) is not None and core not in found and clock.completed(core) > self.step:
            found[core] = position


def run_until(
    exe: Executable,
    inputs: Mapping[str, Array],
    task: str,
    check: bool = False,
    step: int | None = None,
    places: Sequence[TaskResult] = (),
) -> Machine:
    """
    Run `exe` on `inputs` until a task has done its work on the last core, and give the memories: of each core that has
    a part in the task as it was when the core had done this part, of others and of DRAM as they are then.

    The work is done with the task's last instruction, or, with a step of the loop around the task, with the write that
    completes its result in this step; `places` then say where that is.

    Raises InputError for a task that no instruction was made for, and for a step that does not come; else as
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
    if place is not None and stop.steps:
        raise InputError(f"task '{task}' has no step {step} with these inputs: it ran {stop.steps} times")
    raise InputError(f"no instruction of task '{task}' runs: it has nothing to compute")
