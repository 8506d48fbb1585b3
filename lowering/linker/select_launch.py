"""Instruction selection: the machine code of a schedule."""

from __future__ import annotations

from ...chips import Chip
from ..codegen.generate import generate
from ..codegen.machine import Machine
from ..launch.launch_schedule import LaunchSchedule
from .link_launch import launch_code
from .relocate import LaunchCode
from .reroll_loop_steps import StepsDifferError

FRONTS = (6, 24)
"""Numbers of the first steps of a loop that are emitted, tried in turn until the last of them are equal."""


def select_launch(schedule: LaunchSchedule, chip: Chip) -> tuple[Machine, LaunchCode]:
    """
    The streams of all cores, and their machine code.

    Raises MeshloomError if an operation has no machine code, `StepsDifferError` if the steps of a loop stay different.
    """
    for front in FRONTS:
        machine = generate(schedule, chip, front)
        try:
            return machine, launch_code(chip, machine.streams, machine.core_sets.array(), "launch")
        except StepsDifferError:
            if front == FRONTS[-1]:
                raise
    raise AssertionError("unreachable: the last number of steps returns or raises")
