"""Breakpoints of `meshloom-run --break`: `[chipN:]TASK[@STEP]` is parsed and looked up in an executable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..support.errors import InputError

if TYPE_CHECKING:
    from ..emulator.executable.chip_pipeline import ChipPipeline
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import TaskResult


@dataclass(frozen=True)
class Breakpoint:
    """The end of a task, or of one step of it, in the program of a chip."""

    chip: int
    executable: Executable
    """The executable of this chip."""
    task: str
    step: int | None
    """Number of the step in the loop around the task; None: the end of the last step."""
    places: tuple[TaskResult, ...]
    """Addresses of the task's result; empty if the executable does not record them."""


def find_breakpoint(text: str, target: Executable | ChipPipeline) -> Breakpoint:
    """
    Find the breakpoint of a text. A text that equals the name of a task means this task, also with `@` or `chipN:` in
    it.

    Raises InputError for an unknown chip, task or step; the message lists the known ones.
    """
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import task_results

    chips = (target,) if isinstance(target, Executable) else target.chips
    number, task, step = _parsed(text, chips)
    if number is not None and number >= len(chips):
        raise InputError(f"--break {text}: no chip {number}: the executable is for {_range('chip', chips)}")
    holding = [at for at, exe in enumerate(chips) if task in exe.source_names and number in (None, at)]
    if not holding:
        raise InputError(_unknown(task, number, chips))
    if len(holding) > 1:
        which = " or ".join(f"--break chip{at}:{text}" for at in holding)
        raise InputError(f"task '{task}' is on {len(holding)} chips: give {which}")
    (chip,) = holding
    places = task_results(chips[chip])
    found = Breakpoint(chip, chips[chip], task, step, tuple(one for one in places if one.task == task))
    _check_step(found, places)
    return found


def _parsed(text: str, chips: Sequence[Executable]) -> tuple[int | None, str, int | None]:
    """Returns (chip, task, step)."""
    names = {name for exe in chips for name in exe.source_names}
    if text in names:
        return None, text, None
    prefix = re.match(r"chip(\d+):", text)
    chip = None if prefix is None else int(prefix[1])
    rest = text[prefix.end() :] if prefix is not None else text
    task, at, step = rest.rpartition("@")
    if not at or rest in names:
        return chip, rest, None
    if not (step.isascii() and step.isdecimal()):
        raise InputError(f"--break {text}: step '{step}' is not a number: expected 0 or more, as in {task}@0")
    return chip, task, int(step)


def _range(what: str, chips: Sequence[Executable]) -> str:
    return f"{what} 0 only" if len(chips) == 1 else f"{what}s 0 to {len(chips) - 1}"


def _unknown(task: str, chip: int | None, chips: Sequence[Executable]) -> str:
    """The message about a task that is unknown on the given chip, or on all chips."""
    tasks = [", ".join(exe.source_names) or "none" for exe in chips]
    if chip is not None and len(chips) > 1:
        return f"no task '{task}' on chip {chip}: its tasks are {tasks[chip]}"
    if len(chips) == 1:
        return f"no task '{task}': the executable's tasks are {tasks[0]}"
    return f"no task '{task}': the tasks are " + "; ".join(f"on chip {at} {names}" for at, names in enumerate(tasks))


def _check_step(found: Breakpoint, places: Sequence[TaskResult]) -> None:
    """Raises InputError for a step that the task's loop does not have."""
    if found.step is None:
        return
    loops = [one.loop for one in found.places if one.loop is not None]
    if not loops:
        names = ", ".join(one.task for one in places if one.loop is not None) or "none"
        why = "is not in a loop" if found.places else "has no address of its result in the executable"
        raise InputError(f"task '{found.task}' {why}: leave out @{found.step}; tasks in loops are {names}")
    steps = max(loop.steps for loop in loops)
    if found.step >= steps:
        most = ", at most" if any(loop.dynamic for loop in loops) else ""
        raise InputError(f"task '{found.task}' has no step {found.step}: its loop has steps 0 to {steps - 1}{most}")
