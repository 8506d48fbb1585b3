"""The task of an instruction: by the name of its word or, where the linker merged tasks, by the order of execution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..executable.executable import Executable
from ..executable.task_results import TaskResult
from ..machine.expand import Stream
from .execution_order import ExecutionOrder, TaskCounter, TaskWords, task_words
from .observer import LaunchView
from .result_writes import StepClock, step_clock, step_clock_of_executions


@dataclass
class InstructionOwners:
    """The tasks of the instructions of one run of a launch."""

    executable: Executable
    view: LaunchView
    order: ExecutionOrder | None
    """None: words have the names of their tasks, as far as they are not shared."""
    known: TaskWords | None
    counter: TaskCounter | None
    """If words are executed for several tasks."""

    @staticmethod
    def of(exe: Executable, view: LaunchView, order: ExecutionOrder | None) -> InstructionOwners:
        """By the order, if the launch executes as many instructions."""
        known = None if order is None else task_words(exe, view, order)
        if order is None or known is None:
            return InstructionOwners(exe, view, None, None, None)
        return InstructionOwners(exe, view, order, known, TaskCounter(order, view.code) if known.mixed.any() else None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of tasks by the numbers that `tasks` returns."""
        return () if self.order is None else (*self.order.names, "")

    def words(self, task: str) -> NDArray[np.bool_]:
        """[words of all cores] the words that are executed for a task."""
        if self.known is None:
            return self.view.words_of(self.executable, task)
        return self.known.words.get(task, np.zeros(len(self.known.mixed), np.bool_))

    def tasks(self, stream: Stream) -> NDArray[np.int32] | None:
        """[n] the task of each instruction of the next chunk; None if the words' tasks are unique."""
        return None if self.counter is None else self.counter.tasks(stream)

    def step_clock(self, view: LaunchView, place: TaskResult, words: NDArray[np.bool_]) -> StepClock | None:
        """The clock of a task in a loop, whose words are `words`; None if its steps cannot be distinguished."""
        if self.order is None or self.known is None or not (words & self.known.mixed).any():
            return step_clock(view, place, words)
        number, executions = self.order.names.index(place.task), self.order.executions
        return step_clock_of_executions(
            view, place, words, lambda core, opcode: executions.get((number, core, opcode), 0)
        )
