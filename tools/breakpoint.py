"""`[chipN:]TASK[@STEP]`, the places where `meshloom-run --break` stops: parsed, and found in an executable."""

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
    """A place in the program of a chip."""

    chip: int
    executable: Executable
    """Of this chip."""
    task: str
    step: int | None
    """Of the loop around the task; None: after all of them."""
    places: tuple[TaskResult, ...]
    """Where the task's result lies; none if the executable does not say."""


def find_breakpoint(text: str, target: Executable | ChipPipeline) -> Breakpoint:
    """
    The place that a text names. A name with `@` or `chipN:` in it is taken as it is if there is such a task.

    Raises InputError for a chip, task or step that there is not, saying which there are.
    """
    from ..emulator.executable.executable import Executable
    from ..emulator.executable.task_results import task_results

    chips = (target,) if isinstance(target, Executable) else target.chips
    number, task, step = _parsed(text, chips)
    if number is not None and number >= len(chips):
        raise InputError(f"--break {text}: there is no chip {number}, the executable is for {_range('chip', chips)}")
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
    """Chip, task and step."""
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
        raise InputError(f"--break {text}: step '{step}' is no number: expected 0 or more, as in {task}@0")
    return chip, task, int(step)


def _range(what: str, chips: Sequence[Executable]) -> str:
    return f"{what} 0 only" if len(chips) == 1 else f"{what}s 0 to {len(chips) - 1}"


def _unknown(task: str, chip: int | None, chips: Sequence[Executable]) -> str:
    """Words for a task that there is not, on a chip or on any."""
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
        why = "is in no loop" if found.places else "has no place that the executable knows"
        raise InputError(f"task '{found.task}' {why}: leave out @{found.step}; tasks in loops are {names}")
    steps = max(loop.steps for loop in loops)
    if found.step >= steps:
        most = ", at most" if any(loop.dynamic for loop in loops) else ""
        raise InputError(f"task '{found.task}' has no step {found.step}: its loop has the steps 0 to {steps - 1}{most}")
