"""First placement of tiles on cores: in the order of the cores' numbers. Other placements have the same signature."""

from __future__ import annotations

import math

from ...chips import Chip
from ..task_info import TaskInfo
from .plan_task import PlaceTiles


def row_major(chip: Chip) -> PlaceTiles:
    """Tile t goes to the t-th usable core of `chip`."""
    cores = chip.usable_cores

    def place(info: TaskInfo, grid: tuple[int, ...]) -> tuple[int, ...]:
        del info
        return cores[: math.prod(grid)]

    return place
