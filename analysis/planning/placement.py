"""Initial placements of tiles on cores, of the signature `PlaceTiles`."""

from __future__ import annotations

import math

from ...chips import Chip
from ..tasks.task_info import TaskInfo
from .plan_task import PlaceTiles


def column_major(chip: Chip) -> PlaceTiles:
    """Tiles in column-major order of the usable cores: a few tiles already use the DRAM ports of all rows."""
    cores = sorted(chip.usable_cores, key=lambda core: (core % chip.cols, core // chip.cols))
    return _in_order(tuple(cores))


def row_major(chip: Chip) -> PlaceTiles:
    """Tile t is placed on the t-th usable core."""
    return _in_order(chip.usable_cores)


def _in_order(cores: tuple[int, ...]) -> PlaceTiles:
    def place(info: TaskInfo, grid: tuple[int, ...]) -> tuple[int, ...]:
        del info
        return cores[: math.prod(grid)]

    return place
