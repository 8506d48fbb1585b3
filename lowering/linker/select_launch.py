"""The machine code of a schedule."""

from __future__ import annotations

from ...chips import Chip
from ..codegen.generate import generate
from ..codegen.machine import Machine
from ..launch.launch_schedule import LaunchSchedule
from .link_launch import launch_code
from .relocate import LaunchCode
from .reroll_loop_steps import UnlikeSteps

FRONTS = (6, 24)
"""Steps of a loop that are emitted before it is expected that all others are like the last of them."""


def select_launch(schedule: LaunchSchedule, chip: Chip) -> tuple[Machine, LaunchCode]:
    """
    The streams of all cores, and the code that they become.

    Raises MeshloomError for what cannot be done, `UnlikeSteps` for loops whose steps never become alike.
    """
    for front in FRONTS:
        machine = generate(schedule, chip, front)
        try:
            return machine, launch_code(chip, machine.streams, machine.core_sets.array(), "launch")
        except UnlikeSteps:
            if front == FRONTS[-1]:
                raise
    raise AssertionError("one of the numbers of steps is the last")
