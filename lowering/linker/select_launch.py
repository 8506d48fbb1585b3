"""Instruction selection: the machine code of a schedule."""

from __future__ import annotations

from ...chips import Chip
from ..codegen.generate import generate
from ..codegen.machine import Machine
from ..launch.launch_schedule import LaunchSchedule
from .link_launch import launch_code
from .relocate import LaunchCode
from .reroll_loop_steps import UnlikeSteps

FRONTS = (6, 24)
"""Numbers of steps of a loop that are emitted, in turn, until the last of them are alike."""


def select_launch(schedule: LaunchSchedule, chip: Chip) -> tuple[Machine, LaunchCode]:
    """
    The streams of all cores, and their machine code.

    Raises MeshloomError for what cannot be selected, `UnlikeSteps` for loops whose steps do not become alike.
    """
    for front in FRONTS:
        machine = generate(schedule, chip, front)
        try:
            return machine, launch_code(chip, machine.streams, machine.core_sets.array(), "launch")
        except UnlikeSteps:
            if front == FRONTS[-1]:
                raise
    raise AssertionError("one of the numbers of steps is the last")
