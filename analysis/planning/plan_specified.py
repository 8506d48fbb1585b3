"""Plans of tasks whose tiling and placement are specified in the IR, from which everything else is derived."""

from __future__ import annotations

from collections.abc import Sequence

from ...chips import Chip
from ...dialects.manycore import Tiling
from ...dialects.memory import Space
from ...support.errors import InputError
from ..tasks.task_info import TaskInfo
from .plan_task import Cut, fits
from .reads import all_tiles, last_tile, plan_read
from .sram_budget import SramBudget
from .task_plan import Shortage, Source, TaskPlan


def is_specified(info: TaskInfo) -> bool:
    """Whether the task specifies the memory of its result, and with it its tiling."""
    return info.op.placement is not None


def plan_specified(
    info: TaskInfo, chip: Chip, sources: Sequence[Source], budget: SramBudget, free: int, must_leave: str | None
) -> TaskPlan | Shortage:
    """
    The plan of a task with the tiling in the IR, double-buffered if that fits in `budget`.

    With single buffers it may take `free` bytes; Shortage if they do not suffice. `must_leave`: the reason why the
    result cannot stay in the cores. Raises InputError naming the task if tiling or placement is not possible.
    """
    tiling, resident = info.op.tiling.data, info.op.space is Space.SRAM
    place = f"task '{info.name}'"
    if info.op.space is Space.HOST:
        raise InputError(f"{place} leaves its result in host memory: cores can only write to sram and dram")
    if resident and must_leave is not None:
        raise InputError(f"{place} leaves its result in sram, but {must_leave}: place it in dram")
    if unusable := sorted(set(tiling.cores) - set(chip.usable_cores)):
        raise InputError(f"{place} has a tile on core {unusable[0]}, which is not usable on chip '{chip.name}'")
    looped = [dim for dim in tiling.order if tiling.steps[dim] > 1]
    inner = [dim in info.reductions for dim in looped]
    if inner != sorted(inner):
        raise InputError(
            f"{place}: order = {list(tiling.order)} loops over the reduced dimensions {list(info.reductions)} outside "
            f"of others; put the reduced ones last"
        )
    return plan_tiled(info, chip, sources, tiling, budget, free, resident=resident)


def plan_tiled(
    info: TaskInfo,
    chip: Chip,
    sources: Sequence[Source],
    tiling: Tiling,
    budget: SramBudget,
    free: int,
    *,
    resident: bool,
) -> TaskPlan | Shortage:
    """The plan of a task with this tiling, double-buffered if that fits; otherwise as `plan_specified`."""
    tiles = all_tiles(info, tiling)
    reads = tuple(
        plan_read(info, chip, tiles, read, source.distribution, source.constant, source.keep)
        for read, source in zip(info.reads, (sources[read.operand] for read in info.reads), strict=True)
    )
    cut = Cut(info, chip, reads, last_tile(info, tiling), resident).with_traffic()
    double = cut.buffered(tiling, budget)
    if fits(double, chip, budget):
        return double
    single = cut.plan(tiling, slots=1)
    return single if budget.fits(single.working_bytes - (free - budget.available)) else Shortage.of(single)
