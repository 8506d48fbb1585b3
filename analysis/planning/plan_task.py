"""The choice of the tiling of one task: the grid over the cores and the steps in time, by estimated cycles."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations
from typing import NamedTuple

from ...chips import Chip
from ...chips.cycles import bound_by_weights
from ...dialects.dataflow.tiling import Box
from ...dialects.manycore import Grid, Tiling
from ...support.records import lazy, quick_init
from ..sparse.product_cycles import LOADING_WORK
from ..tasks.slices import Tiles
from ..tasks.task_info import TaskInfo, value_bytes
from .estimate import Gather, Pricing, TaskWork, step_work, task_work
from .reads import (
    ReadPlan,
    ReadSize,
    all_tiles,
    burst_bytes,
    last_tile,
    measure_read,
    plan_read,
    sample_tiles,
)
from .sram_budget import BudgetMemo, SramBudget
from .storage import Distribution
from .task_plan import Shortage, Source, TaskPlan, aligned, estimate_together, output_steps
from .tiling_search import coarser_steps, finer_steps, grid_candidates, much_finer_steps

CONSTANT_SHARE = 5
"""A buffer for constants takes at most this fraction (1 / 5) of SRAM, so that the next one can be prefetched."""
MATRIX_WORK = 0.2
"""
Weight of the cycles of matrix units with encoded weights in the price of plans, relative to the cycles of the task.
"""
PRUNE_RATIO = 1.5
"""Tilings with a price above this ratio times the best price are pruned."""
MAX_REFINEMENTS = 64
MAX_GRIDS = 8
"""Largest number of grids that are estimated exactly."""


PlaceTiles = Callable[[TaskInfo, tuple[int, ...]], tuple[int, ...]]
"""Chooses the cores of a grid's tiles: (task, grid) -> a core for each tile, in row-major order of the tiles."""


Readable = Callable[[Callable[[], Distribution]], bool]
"""Whether readers can use a result in the cores; its argument computes the distribution of the result on demand."""


@dataclass(frozen=True)
class TaskRequest:
    """A task to be tiled, and the conditions for its tilings."""

    info: TaskInfo
    chip: Chip
    sources: Sequence[Source]
    """The source of each operand."""
    readable: Readable | None
    """A result that is not readable goes to DRAM. None: it goes there in any case."""
    place: PlaceTiles
    accept: Callable[[tuple[int, ...]], bool] = lambda grid: True
    """Whether a grid may be tried."""
    grid: Grid | None = None
    """The only grid to try, which need not be a candidate."""
    pricing: Pricing = Pricing.HIDDEN


def plan_task(request: TaskRequest, budget: SramBudget, limit: float = math.inf) -> TaskPlan | Shortage:
    """The cheapest tiling that fits `budget` on each core, by estimated cycles, of those with a price below `limit`."""
    found = task_plans(request, budget, 1, limit)
    return found if isinstance(found, Shortage) else found[0]


def task_plans(
    request: TaskRequest, budget: SramBudget, most: int, limit: float = math.inf
) -> list[TaskPlan] | Shortage:
    """
    The cheapest tilings with different grids, the best first: at most `most`, and none that costs much more than the
    best. `budget` and `limit` are as for `plan_task`.
    """
    found: list[TaskPlan] = []
    least = Shortage(1 << 62)
    for looked_at, bound in enumerate(_fastest_first(request, _tilings(request))):
        if found and looked_at >= MAX_GRIDS:
            break
        if bound.least_price >= limit:
            continue
        cut = _cut(request, all_tiles(request.info, bound.tiling))
        if cut.plan(bound.tiling).least_price >= limit:
            continue
        if any([read.held_needed is not None for read in cut.reads]):
            cut = cut.with_traffic()
            if cut.plan(bound.tiling).least_price >= limit:
                continue
        plan = _refined(cut, bound.tiling, budget)
        if isinstance(plan, Shortage):
            least = min(least, plan, key=lambda shortage: shortage.needed)
        elif plan.price < limit:
            found = sorted([*found, plan], key=lambda plan: plan.price)[:most]
            limit = min(limit, found[0].price * PRUNE_RATIO)
            if len(found) == most:
                limit = min(limit, found[-1].price)
            found = [plan for plan in found if plan.price <= limit]
    return found or least


def _tilings(request: TaskRequest) -> list[Tiling]:
    """A tiling in one step for each grid that may be tried."""
    info = request.info
    grids = map(Grid, grid_candidates(info, request.chip)) if request.grid is None else (request.grid,)
    order = _default_order(info)
    return [
        Tiling(grid.parts, request.place(info, grid.parts), (1,) * len(grid.parts), order, grid.multiples)
        for grid in grids
        if request.accept(grid.parts)
    ]


def _fastest_first(request: TaskRequest, tilings: Sequence[Tiling]) -> Iterator[TaskPlan]:
    """
    Plans of grids by ascending lower bound of their cycles, which is the estimate without steps and messages.

    Reads are examined only for tilings whose operations take less than other tilings in total.
    """
    info = request.info
    heap: list[tuple[float, int, int]] = []
    for number, tiling in enumerate(tilings):
        last = last_tile(info, tiling)
        work = step_work(info, last, request.chip)
        vector = work.rest + work.begun
        least = work.root + vector if work.unit == "VPU" else max(work.root, vector)
        heap.append((float(least), 0, number))
    heapq.heapify(heap)
    found: dict[int, TaskPlan] = {}
    while heap:
        _, known, number = heapq.heappop(heap)
        if known:
            yield found.pop(number)
            continue
        tiling = tilings[number]
        plan = _cut(request, sample_tiles(info, tiling)).plan(tiling)
        found[number] = plan
        heapq.heappush(heap, (plan.price, 1, number))


def _cut(request: TaskRequest, tiles: Tiles) -> Cut:
    """A grid with its reads; a lower bound if `tiles` is a sample."""
    info, chip, readable = request.info, request.chip, request.readable
    served = [request.sources[read.operand] for read in info.reads]
    reads = tuple(
        plan_read(info, chip, tiles, read, source.distribution, source.constant, source.keep)
        for read, source in zip(info.reads, served, strict=True)
    )

    def held() -> Distribution:
        return Distribution({core: info.root.result_box(tile) for core, tile in tiles.boxes().items()}, 0)

    resident = readable is not None and readable(held)
    return Cut(info, chip, reads, last_tile(info, tiles.tiling), resident, request.pricing)


class _Steps(NamedTuple):
    """The choice for a grid, which determines the plan together with the grid's reads, but takes little memory."""

    tiling: Tiling
    slots: int
    keeps_constants: bool
    fitting_steps: int


def _refined(cut: Cut, tiling: Tiling, budget: SramBudget) -> TaskPlan | Shortage:
    """`_refine`; its choice is cached for grids whose reads have the same costs, even if their sources differ."""
    made: list[TaskPlan] = []

    def make(budget: SramBudget) -> _Steps | Shortage:
        plan = _refine(cut, tiling, budget)
        if isinstance(plan, Shortage):
            return plan
        made.append(plan)
        return _Steps(plan.tiling, plan.slots, plan.keeps_constants, plan.fitting_steps)

    known: BudgetMemo[_Steps | Shortage] = cut.info.once("refined", BudgetMemo["_Steps | Shortage"])
    found = known.within((tiling, cut.resident, cut.pricing, *map(_costs_of, cut.reads)), budget, make)
    if isinstance(found, Shortage):
        return found
    if made:
        return made[0]
    return replace(cut.plan(found.tiling, found.slots, found.keeps_constants), fitting_steps=found.fitting_steps)


def _costs_of(read: ReadPlan) -> tuple[object, ...]:
    """The properties of a read that the steps of a task depend on, for a given grid."""
    return read.kind, read.constant, read.keep, read.gathered, read.exchange_cycles, read.prepare_cycles


def _refine(cut: Cut, tiling: Tiling, budget: SramBudget) -> TaskPlan | Shortage:
    """Cut tiles into steps until they fit, then continue as long as finer or coarser steps are faster."""
    info, chip, tile = cut.info, cut.chip, cut.tile

    @cache
    def measured(steps: tuple[int, ...]) -> TaskPlan:
        return cut.buffered(Tiling(tiling.grid, tiling.cores, steps, tiling.order, tiling.multiples), budget)

    current = measured(tiling.steps)
    while not fits(current, chip, budget):
        finer = [measured(steps) for steps in finer_steps(info, tile.sizes, current.tiling.steps)]
        if not finer:
            single = cut.plan(current.tiling, slots=1)
            if budget.fits(single.working_bytes):
                return replace(single, fitting_steps=single.tiling.step_count)
            return Shortage.of(single)
        # Choose the step that saves the most bytes, and among equals the one that costs least.
        smallest = _least_excess(finer, chip, budget)
        if len(smallest) > 1:
            estimate_together(smallest)
        current = min(smallest, key=lambda option: option.price) if len(smallest) > 1 else smallest[0]
    fitting_steps = current.tiling.step_count

    def descended(plan: TaskPlan) -> TaskPlan:
        for _ in range(MAX_REFINEMENTS):
            steps = plan.tiling.steps
            neighbours = [*finer_steps(info, tile.sizes, steps), *coarser_steps(info, tile.sizes, steps)]
            fitting = [option for option in map(measured, neighbours) if fits(option, chip, budget)]
            estimate_together(fitting)
            cheapest = min(fitting, key=lambda option: option.price, default=plan)
            if cheapest.price >= plan.price:
                break
            plan = cheapest
        return plan

    starts = [current]
    if current.work.values:
        # Steps overlap loading with work, but cuts in two dimensions interact: the best cut in one dimension is often
        # not reachable by improving moves from here.
        far = map(measured, much_finer_steps(info, tile.sizes, current.tiling.steps))
        starts += [option for option in far if fits(option, chip, budget)]
        estimate_together(starts)
    current = min(map(descended, starts), key=lambda plan: plan.price)
    return replace(_best_order(cut, current), fitting_steps=fitting_steps)


def _least_excess(options: Sequence[TaskPlan], chip: Chip, budget: SramBudget) -> list[TaskPlan]:
    """The plans with the least excess over the limits of `fits`; `budget` is queried so that it records the sizes."""

    def constants(option: TaskPlan) -> int:
        return _constant_excess(option, chip)

    def all_bytes(option: TaskPlan) -> int:
        return option.working_bytes + constants(option)

    inside = [budget.fits(option.working_bytes) for option in options]
    near = _least([option for option, fitting in zip(options, inside, strict=True) if fitting], constants)
    far = _least([option for option, fitting in zip(options, inside, strict=True) if not fitting], all_bytes)
    if not near or not far:
        return near or far
    alike = all_bytes(far[0]) - constants(near[0])
    if not budget.fits(alike):
        return near
    return far if budget.fits(alike + 1) else sorted([*near, *far], key=options.index)


def _least(options: Sequence[TaskPlan], nbytes: Callable[[TaskPlan], int]) -> list[TaskPlan]:
    """All plans with the fewest bytes."""
    sizes = [nbytes(option) for option in options]
    return [option for option, size in zip(options, sizes, strict=True) if size == min(sizes)]


def fits(plan: TaskPlan, chip: Chip, budget: SramBudget) -> bool:
    """Whether a plan is within the `budget` and leaves memory to load the next task's constants."""
    return not _constant_excess(plan, chip) and budget.fits(plan.working_bytes)


def _constant_excess(plan: TaskPlan, chip: Chip) -> int:
    """Number of bytes by which the largest buffer for constants is too large."""
    return max(0, plan.largest_constant - chip.sram_bytes // CONSTANT_SHARE)


def _default_order(info: TaskInfo) -> tuple[int, ...]:
    rest = tuple(dim for dim in range(len(info.sizes)) if dim not in info.reductions)
    return (*rest, *info.reductions)


def _best_order(cut: Cut, plan: TaskPlan) -> TaskPlan:
    """The loop order with the least traffic, reductions always innermost."""
    tiling, reductions = plan.tiling, cut.info.reductions
    moving = [dim for dim in tiling.order if tiling.steps[dim] > 1 and dim not in reductions]
    still = [dim for dim in range(len(tiling.steps)) if dim not in moving and dim not in reductions]
    best = plan
    for order in permutations(sorted(moving)):
        if order == tuple(moving):
            continue  # unchanged: the positions of dimensions that are not cut make no difference
        option = replace(tiling, order=(*still, *order, *reductions))
        candidate = cut.plan(option, plan.slots, plan.keeps_constants)
        if candidate.working_bytes <= plan.working_bytes and candidate.cycles < best.cycles:
            best = candidate
    return best


@quick_init
@dataclass(frozen=True)
class Cut:
    """A task cut over cores: everything that does not depend on the cut of tiles into steps."""

    info: TaskInfo
    chip: Chip
    reads: tuple[ReadPlan, ...]
    tile: Box
    """The last tile, which is as large as any."""
    resident: bool
    """Whether the result stays in the cores."""
    pricing: Pricing = Pricing.HIDDEN

    def with_traffic(self) -> Cut:
        """A copy with exchanges estimated from their messages."""
        return replace(self, reads=tuple(read.with_traffic(self.chip) for read in self.reads))

    def buffered(self, tiling: Tiling, budget: SramBudget) -> TaskPlan:
        """The double-buffered plan; the constants of all steps are loaded together if that fits in `budget`."""
        step, several = self._largest_step(tiling), tiling.step_count > 1
        sizes = self._sizes(tiling, step, keep_constants=several)
        keeps = several and any([size.kept for size in sizes])
        plan = self._plan(tiling, step, sizes, 2, keeps)
        if not keeps or fits(plan, self.chip, budget):
            return plan
        return self._plan(tiling, step, self._sizes(tiling, step, keep_constants=False), 2, False)

    def plan(self, tiling: Tiling, slots: int = 2, keep_constants: bool = False) -> TaskPlan:
        """The plan of a tiling with this grid and number of buffers."""
        step = self._largest_step(tiling)
        return self._plan(tiling, step, self._sizes(tiling, step, keep_constants), slots, keep_constants)

    def _largest_step(self, tiling: Tiling) -> Box:
        """The first step, which is as large as any (`split_blocks`)."""
        tile = self.tile
        return Box(
            tile.offsets, tuple([-(-size // steps) for size, steps in zip(tile.sizes, tiling.steps, strict=True)])
        )

    def _sizes(self, tiling: Tiling, step: Box, keep_constants: bool) -> tuple[ReadSize, ...]:
        info, chip, tile = self.info, self.chip, self.tile
        return tuple([measure_read(read, info, chip, tiling, step, tile, keep_constants) for read in self.reads])

    def _plan(
        self, tiling: Tiling, step: Box, sizes: tuple[ReadSize, ...], slots: int, keep_constants: bool
    ) -> TaskPlan:
        item, tile_bytes, temporaries = self._result_bytes
        step_elements = self.info.largest_result(step)
        outputs = output_steps(self.info, tiling)
        working = aligned(tile_bytes) if self.resident else aligned(step_elements * item) * min(slots, outputs)
        for temporary in temporaries:
            working += aligned(step_elements * temporary)
        for size in sizes:
            working += min(slots, size.versions) * aligned(size.buffer_bytes)
        if self.info.double_buffered_root is not None and min(slots, outputs) > 1:
            working += aligned(step_elements * self.info.buffers.item_bytes[self.info.double_buffered_root])
        scratch = self.info.scratch_bytes(step)
        working += aligned(scratch)
        return TaskPlan(
            tiling, self.reads, sizes, keep_constants, slots, self.resident, tile_bytes, step_elements, scratch,
            working, lambda sizes: self._work(tiling, step, sizes, outputs), self.info, self.chip, self._matrix_work,
            pricing=self.pricing,
        )  # fmt: skip

    @lazy
    def _result_bytes(self) -> tuple[int, int, tuple[int, ...]]:
        """Bytes of an element of the result, of its largest tile, and of an element of each temporary buffer."""
        info, buffers = self.info, self.info.buffers
        item = value_bytes(info.result)
        temporaries = tuple(buffers.item_bytes[number] for number in buffers.temporaries)
        return item, info.largest_result(self.tile) * item, temporaries

    @lazy
    def _gathering(self) -> tuple[float, int]:
        """Cycles of exchanges, and of the vector unit for their preparation."""
        return sum(read.exchange_cycles for read in self.reads), sum(read.prepare_cycles for read in self.reads)

    @lazy
    def _matrix_work(self) -> float:
        work = self.info.cost(0, Box.whole(self.info.sizes)).encoded
        if work is None:
            return 0.0
        return LOADING_WORK if bound_by_weights(self.chip, work.rows) else MATRIX_WORK

    def _work(self, tiling: Tiling, step: Box, sizes: Sequence[ReadSize], outputs: int) -> TaskWork:
        exchange, prepare = self._gathering
        first = 0.0
        for read, size in zip(self.reads, sizes, strict=True):
            first += read.exchange_cycles / size.parts
        stored = 0.0 if self.resident else self._stored_bytes(step)
        reads = [(size, read.constant) for read, size in zip(self.reads, sizes, strict=True)]
        gather = Gather(prepare, first, exchange - first)
        return task_work(step_work(self.info, step, self.chip), tiling, outputs, gather, reads, stored, self.chip)

    def _stored_bytes(self, step: Box) -> float:
        """Bytes over DRAM ports for the result, of which each step stores a part: whole bursts."""
        info = self.info
        item, sizes_stored = value_bytes(info.result), info.root.largest_result(step)
        whole = info.root.result_box(Box.whole(info.sizes))
        share = burst_bytes(whole.sizes, sizes_stored, item, self.chip) / max(1, math.prod(sizes_stored) * item)
        return share * whole.volume * item
