"""Choose the tiling of one task: the grid over the cores and the steps in time, by estimated cycles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

from ...chips import Chip
from ...dialects.dataflow.tiling import Box
from ...dialects.manycore import Tiling
from ..task_info import TaskInfo, value_bytes
from .estimate import begun_cycles, compute_cycles, task_cycles
from .reads import ReadPlan, ReadSize, measure_read, plan_read, sample_boxes
from .storage import Distribution
from .tiling_search import coarser_steps, finer_steps, grid_candidates

ALIGNMENT = 64
"""Bytes to which buffers in SRAM are aligned."""
CONSTANT_SHARE = 5
"""A buffer for constants takes at most this fraction (1 / 5) of SRAM, so that the next one can be loaded ahead."""
PASS_THROUGH = 2
"""A result in DRAM costs its bytes twice: when it is stored, and when it is read."""
MAX_REFINEMENTS = 64
MAX_GRIDS = 12
"""Grids that are looked at closely."""


def aligned(size: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Source:
    """Where an operand comes from: its distribution over the cores (None: DRAM), and whether it is a constant."""

    distribution: Distribution | None
    constant: bool


@dataclass(frozen=True)
class TaskPlan:
    """A tiling with what follows from it."""

    tiling: Tiling
    reads: tuple[ReadPlan, ...]
    sizes: tuple[ReadSize, ...]
    keeps_constants: bool
    """Constants of all steps are loaded before the first."""
    slots: int
    """Buffers of each read that gets new content during the task (2: the next is loaded while one is in use)."""
    resident: bool
    """The result stays in the cores."""
    tile_bytes: int
    """Bytes of the largest tile of the result."""
    step_elements: int
    """Elements of the result of the largest step."""
    working_bytes: int
    """SRAM of the busiest core that the task needs beside what is there already, the result included."""
    cycles: float
    least_cycles: float
    """Bound for all plans that differ in steps alone."""
    fitting_steps: int = 1
    """Number of steps of the first plan looked at that fitted: more would be for speed."""

    def with_traffic(self, chip: Chip) -> TaskPlan:
        """The same with exchanges estimated from their messages."""
        reads = tuple(read.with_traffic(chip) for read in self.reads)
        exchange = sum(read.exchange_cycles for read in reads)
        more = exchange - sum(read.exchange_cycles for read in self.reads)
        return replace(self, reads=reads, cycles=self.cycles + more, least_cycles=max(self.least_cycles, exchange))

    def distribution(self, info: TaskInfo) -> Distribution:
        """Where the result's tiles are."""
        tiles = self.tiling.tile_boxes(info.sizes)
        return Distribution({core: info.root.result_box(tile) for core, tile in tiles.items()}, self.tile_bytes)

    def staging_slots(self, info: TaskInfo) -> int:
        """Number of buffers from which steps of the result go to DRAM."""
        return 0 if self.resident else min(self.slots, output_steps(info, self.tiling))

    def buffers_of(self, number: int) -> int:
        """Number of buffers of read `number`."""
        return min(self.slots, self.sizes[number].versions) if self.sizes[number].buffer_bytes else 0


def output_steps(info: TaskInfo, tiling: Tiling) -> int:
    """Number of steps that give different parts of the result."""
    return math.prod(count for dim, count in enumerate(tiling.steps) if dim not in info.reductions)


@dataclass(frozen=True)
class Shortage:
    """Why no tiling fits: the best one tried needs `needed` bytes of SRAM on a core where `available` are free."""

    needed: int
    available: int


PlaceTiles = Callable[[TaskInfo, tuple[int, ...]], tuple[int, ...]]
"""Choose the cores of a grid's tiles: (task, grid) -> a core per tile, in row-major order of the tiles."""


def plan_task(
    info: TaskInfo,
    chip: Chip,
    sources: Sequence[Source],
    available: int,
    readable: Callable[[Distribution], bool] | None,
    place: PlaceTiles,
    *,
    limit: float = math.inf,
    accept: Callable[[tuple[int, ...]], bool] = lambda grid: True,
) -> TaskPlan | Shortage:
    """
    The cheapest tiling that fits `available` bytes of SRAM on each core, by estimated cycles.

    Only grids that `accept` takes are looked at, and only plans that may take fewer than `limit` cycles.

    `readable` tells of a distribution of the result whether those who read it can do so where it is; where they cannot,
    the result goes to DRAM. None: it goes there in any case.
    """
    best: TaskPlan | None = None
    least = Shortage(1 << 62, available)
    tilings = [
        Tiling(grid, place(info, grid), (1,) * len(grid), _default_order(info))
        for grid in grid_candidates(info, chip)
        if accept(grid)
    ]
    # A grid is at its fastest without steps and messages: the fastest first, until none can beat what has been found.
    bounds = [_unstepped(info, chip, sources, readable, tiling, sample_boxes(info, tiling)) for tiling in tilings]
    for looked_at, bound in enumerate(sorted(bounds, key=lambda plan: plan.cycles)):
        if best is not None and looked_at >= MAX_GRIDS:
            break
        if bound.least_cycles >= limit:
            continue
        tiles = bound.tiling.tile_boxes(info.sizes)
        first = _unstepped(info, chip, sources, readable, bound.tiling, tiles).with_traffic(chip)
        if first.least_cycles >= limit:
            continue
        plan = _refine(info, chip, first, available)
        if isinstance(plan, Shortage):
            least = min(least, plan, key=lambda shortage: shortage.needed)
        elif plan.cycles < limit:
            best, limit = plan, plan.cycles
    return best or least


def _unstepped(
    info: TaskInfo,
    chip: Chip,
    sources: Sequence[Source],
    readable: Callable[[Distribution], bool] | None,
    tiling: Tiling,
    tiles: dict[int, Box],
) -> TaskPlan:
    """The plan of a tiling without steps, whether that fits or not; a lower bound where `tiles` are only some."""
    sampled = tiling if len(tiles) < len(tiling.cores) else None
    served = [sources[read.operand] for read in info.reads]
    reads = tuple(
        plan_read(info, chip, tiles, read, source.distribution, source.constant, sampled)
        for read, source in zip(info.reads, served, strict=True)
    )
    held = Distribution({core: info.root.result_box(tile) for core, tile in tiles.items()}, 0)
    return measure(info, chip, reads, tiling, tiles, readable is not None and readable(held))


def _refine(info: TaskInfo, chip: Chip, plan: TaskPlan, available: int) -> TaskPlan | Shortage:
    """Cut tiles into steps until they fit, then go on as long as finer or coarser steps are faster."""
    tiles = plan.tiling.tile_boxes(info.sizes)
    tile = tiles[plan.tiling.cores[-1]]

    @cache
    def measured(steps: tuple[int, ...]) -> TaskPlan:
        tiling = replace(plan.tiling, steps=steps)
        return measure_buffered(info, chip, plan.reads, tiling, tiles, plan.resident, available)

    current = measured(plan.tiling.steps)
    needed = current.working_bytes
    while not fits(current, chip, available):
        finer = [measured(steps) for steps in finer_steps(info, tile.sizes, current.tiling.steps)]
        if not finer:
            single = measure(info, chip, plan.reads, current.tiling, tiles, plan.resident, slots=1)
            if single.working_bytes <= available:
                return replace(single, fitting_steps=single.tiling.step_count)
            return Shortage(single.working_bytes, available)
        # Go where most bytes are saved, and among equals where it costs least.
        current = min(finer, key=lambda option: (_excess(option, chip, available), option.cycles))
        needed = min(needed, current.working_bytes)
    fitting_steps = current.tiling.step_count
    for _ in range(MAX_REFINEMENTS):
        steps = current.tiling.steps
        neighbours = [*finer_steps(info, tile.sizes, steps), *coarser_steps(info, tile.sizes, steps)]
        fitting = [option for option in map(measured, neighbours) if fits(option, chip, available)]
        fastest = min(fitting, key=lambda option: option.cycles, default=current)
        if fastest.cycles >= current.cycles:
            break
        current = fastest
    return replace(_best_order(info, chip, current, tiles), fitting_steps=fitting_steps)


def _excess(plan: TaskPlan, chip: Chip, available: int) -> int:
    constants = max(
        (size.buffer_bytes for read, size in zip(plan.reads, plan.sizes, strict=True) if read.constant), default=0
    )
    return max(0, plan.working_bytes - available) + max(0, constants - chip.sram_bytes // CONSTANT_SHARE)


def fits(plan: TaskPlan, chip: Chip, available: int) -> bool:
    """Whether a plan keeps to `available` bytes of SRAM and leaves room to load the next task's constants."""
    return _excess(plan, chip, available) == 0


def _default_order(info: TaskInfo) -> tuple[int, ...]:
    rest = tuple(dim for dim in range(len(info.sizes)) if dim not in info.reductions)
    return (*rest, *info.reductions)


def _best_order(info: TaskInfo, chip: Chip, plan: TaskPlan, tiles: dict[int, Box]) -> TaskPlan:
    """The loop order that moves least, reductions always innermost."""
    tiling = plan.tiling
    moving = [dim for dim, count in enumerate(tiling.steps) if count > 1 and dim not in info.reductions]
    still = [dim for dim in range(len(tiling.steps)) if dim not in moving and dim not in info.reductions]
    best = plan
    for order in permutations(moving):
        option = Tiling(tiling.grid, tiling.cores, tiling.steps, (*still, *order, *info.reductions))
        candidate = measure(info, chip, plan.reads, option, tiles, plan.resident, plan.slots, plan.keeps_constants)
        if candidate.cycles < best.cycles and candidate.working_bytes <= plan.working_bytes:
            best = candidate
    return best


def measure_buffered(
    info: TaskInfo,
    chip: Chip,
    reads: tuple[ReadPlan, ...],
    tiling: Tiling,
    tiles: dict[int, Box],
    resident: bool,
    available: int,
) -> TaskPlan:
    """As `measure`, with two buffers; the constants of all steps are kept if that fits in `available` bytes."""
    if tiling.step_count > 1:
        kept = measure(info, chip, reads, tiling, tiles, resident, keep_constants=True)
        if fits(kept, chip, available):
            return kept
    return measure(info, chip, reads, tiling, tiles, resident)


def measure(
    info: TaskInfo,
    chip: Chip,
    reads: tuple[ReadPlan, ...],
    tiling: Tiling,
    tiles: dict[int, Box],
    resident: bool,
    slots: int = 2,
    keep_constants: bool = False,
) -> TaskPlan:
    """What follows from a tiling (`tiles` are its own), from how values are read, and from a number of buffers."""
    tile = tiles[tiling.cores[-1]]
    sizes_of_step = tuple(math.ceil(size / steps) for size, steps in zip(tile.sizes, tiling.steps, strict=True))
    # The first step is as large as any (`split_blocks`), and the last tile as large as any (`split_evenly`).
    step = Box(tile.offsets, sizes_of_step)
    sizes = tuple(measure_read(read, info, tiling, step, tile, keep_constants) for read in reads)
    item = value_bytes(info.result)
    tile_bytes = math.prod(info.root.largest_result(tile)) * item
    step_elements = math.prod(info.root.largest_result(step))
    outputs = output_steps(info, tiling)
    working = aligned(tile_bytes) if resident else aligned(step_elements * item) * min(slots, outputs)
    working += sum(aligned(step_elements * info.buffers.item_bytes[number]) for number in info.buffers.temporaries)
    working += sum(min(slots, size.versions) * aligned(size.buffer_bytes) for size in sizes)
    whole_bytes = info.root.result_box(Box.whole(info.sizes)).volume * item
    exchange = sum(read.exchange_cycles for read in reads)
    begun = sum(read.exchange_cycles / size.parts for read, size in zip(reads, sizes, strict=True))
    cycles = task_cycles(
        chip,
        compute_cycles(info, step, chip),
        begun_cycles(info, step, chip),
        tiling.step_count,
        begun,
        exchange - begun,
        sizes,
        0 if resident else PASS_THROUGH * whole_bytes,
        tiling.cores,
    )
    return TaskPlan(tiling, reads, sizes, keep_constants, slots, resident, tile_bytes, step_elements, working, *cycles)
