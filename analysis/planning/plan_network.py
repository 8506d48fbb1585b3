"""
Plan a network of tasks: a tiling for each, and which values stay in the cores between the task that computes them and
those that read them. What does not fit goes to DRAM: the largest value that is in the way first, until all tasks fit.
The tasks after the one that computes it are planned again; each time that as many have been planned again as there are
tasks, twice as many values go at once, so that thousands of tasks take few rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from heapq import nlargest
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.types import shape_of
from ...dialects.locations import at, located
from ...dialects.manycore import TaskOp
from ...support.errors import ResourceError
from ...support.phases import phase
from ..task_info import TaskInfo, value_bytes
from .estimate import PASS_THROUGH
from .kept_constants import (
    Keeping,
    ReadOf,
    find_sharing,
    first_of_kept,
    keep_operands,
    kept_bytes,
    with_loads,
)
from .load_ahead import LEADS, Lead
from .plan_memo import PlanMemo
from .plan_task import PlaceTiles, Readable, Shortage, Source, TaskPlan, aligned, plan_task
from .plan_written import is_written, plan_written
from .room import Room
from .storage import Distribution

CROWDED_STEPS = 8
"""A task that needs as many steps to fit is planned again with less in the cores, and the faster way taken."""
WORKING_SHARE = 0.92
"""Of SRAM: what planning hands out; the rest is for alignment, fragmentation and loading ahead."""


def storage_root(value: SSAValue) -> SSAValue:
    """The value whose memory `value` is: reshapes outside of tasks only change the view."""
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    return value


@dataclass(frozen=True)
class NetworkPlan:
    """The tasks of a function in order, with their plans."""

    tasks: tuple[TaskInfo, ...]
    plans: tuple[TaskPlan, ...]
    last_use: dict[SSAValue, int]
    """Number of the last task that reads a value (by storage root)."""
    lead: Lead = LEADS[0]
    """How early constants are loaded."""

    @cached_property
    def roots(self) -> tuple[tuple[SSAValue, ...], ...]:
        """By task, the values whose memory its operands are."""
        return tuple(tuple(map(storage_root, info.operands)) for info in self.tasks)

    @cached_property
    def kept(self) -> dict[ReadOf, ReadOf]:
        """Reads of constants that stay in the cores -> the read that loads them (see `kept_constants`)."""
        return first_of_kept(self.tasks, self.plans)

    @cached_property
    def kept_until(self) -> dict[ReadOf, int]:
        """Reads that load constants which stay in the cores -> number of the last task that reads these."""
        return {first: number for (number, _), first in self.kept.items()}

    @property
    def resident(self) -> dict[SSAValue, int]:
        """Values that stay in the cores -> number of the task that computes them."""
        return {info.result: number for number, info in enumerate(self.tasks) if self.plans[number].resident}


@phase("plan tasks")
def plan_network(function: FuncOp, chip: Chip, place: PlaceTiles, memo: PlanMemo | None = None) -> NetworkPlan:
    """
    Plan all tasks of a function. A task that says where its result lies keeps that and its tiling.

    `memo` holds what earlier calls for this chip and `place` have worked out.

    Raises InputError naming the task where that cannot be carried out, MeshloomError naming task, core, bytes needed
    and bytes there if a task does not fit even alone.
    """
    memo = PlanMemo() if memo is None else memo
    tasks = tuple(memo.info(op) for op in function.body.block.ops if isinstance(op, TaskOp))
    last_use: dict[SSAValue, int] = {}
    for number, info in enumerate(tasks):
        for value in info.operands:
            last_use[storage_root(value)] = number
    in_dram = _must_be_in_dram(function, tasks)
    shapes = shapes_read(tasks)
    begun = _Begun(tasks, last_use)
    keeping = Keeping(find_sharing(tasks, list(map(memo.number, tasks))), chip)
    while len(begun.plans) < len(tasks):
        info, resident, movable = tasks[len(begun.plans)], begun.resident, begun.movable
        kept = keeping.beside(begun.plans)
        held = begun.held_bytes + sum(map(kept_bytes, kept.values()))
        available = int(chip.sram_bytes * WORKING_SHARE) - held
        sources = [source_of(value, resident) for value in info.operands]
        read_as = shapes.get(info.result, set())
        if is_written(info):
            must_leave = _must_leave(info, in_dram, read_as)
            sources = keep_operands(sources, info.op.kept)
            with at(info.op):
                plan = _planned_as_written(info, chip, sources, available, chip.sram_bytes - held, must_leave, memo)
        else:
            stays = info.result not in in_dram
            alone = partial(_plan_next, info, chip, place, stays=stays, read_as=read_as, memo=memo)
            planned = partial(alone, available=available)
            plan = keeping.plan(begun.plans, sources, planned) or planned(sources)
            if isinstance(plan, TaskPlan) and plan.fitting_steps >= CROWDED_STEPS and movable:
                # So many steps may be a sign that too much stays: is it faster with the largest values in DRAM?
                victims = begun.in_the_way()
                rest = {value: one for value, one in resident.items() if value not in victims}
                moved = [source_of(value, rest) for value in info.operands]
                more = available + sum(aligned(resident[victim].tile_bytes) for victim in victims)
                other = alone(moved, available=more)
                detour = sum(_detour(victim, chip) for victim in victims)
                if isinstance(other, TaskPlan) and other.cycles + detour < plan.cycles:
                    in_dram.update(victims)
                    begun.go_back(victims)
                    continue
        if isinstance(plan, TaskPlan):
            begun.add(plan)
        elif kept and not is_written(info):
            begun.go_back_to(keeping.give_up(kept))
        elif movable:
            victims = begun.in_the_way()
            in_dram.update(victims)
            begun.go_back(victims)
        elif is_written(info):
            error = ResourceError(
                f"task '{info.name}' does not fit as it is tiled: it needs {plan.needed} bytes of SRAM on core "
                f"{info.op.tiling.cores[-1]}{_largest_tile(info, plan)}, where {chip.sram_bytes - held} of "
                f"{chip.sram_bytes} are free; cut it into more steps, or place results of tasks before it in dram",
                "SRAM of a core", plan.needed, chip.sram_bytes - held,
            )  # fmt: skip
            raise located(error, info.op)
        else:
            error = ResourceError(
                f"task '{info.name}' does not fit: its smallest tile needs {plan.needed} bytes of SRAM on core "
                f"{chip.usable_cores[0]}{_largest_tile(info, plan)}, where {available} of {chip.sram_bytes} "
                f"may be used; choose a chip with more SRAM per core",
                "SRAM of a core", plan.needed, available,
            )  # fmt: skip
            raise located(error, info.op)
    return NetworkPlan(tasks, with_loads(tasks, begun.plans), last_use)


@dataclass
class _Begun:
    """Plans of the first tasks, and those of results that are in the cores when the next task begins."""

    tasks: tuple[TaskInfo, ...]
    last_use: dict[SSAValue, int]
    plans: list[TaskPlan] = field(default_factory=list[TaskPlan])
    resident: dict[SSAValue, TaskPlan] = field(default_factory=dict[SSAValue, TaskPlan])
    movable: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Those of `resident` that may go to DRAM: their tasks do not say where their results lie."""
    held_bytes: int = 0
    """Bytes of SRAM of a core that `resident` takes."""
    leaving: dict[int, list[SSAValue]] = field(default_factory=dict[int, list[SSAValue]])
    """Number of a task -> the values of `resident` that it is the last to read."""
    planned_again: int = 0
    """How many plans were given up, all in all."""

    @cached_property
    def numbers(self) -> dict[SSAValue, int]:
        """Result of a task -> the task's number."""
        return {info.result: number for number, info in enumerate(self.tasks)}

    def in_the_way(self) -> set[SSAValue]:
        """Which values go to DRAM when there is too little room: those with the largest tiles, the earlier of equal."""
        count = 1 << self.planned_again // len(self.tasks)
        return set(nlargest(count, self.movable, lambda value: (self.resident[value].tile_bytes, -self.numbers[value])))

    def add(self, plan: TaskPlan) -> None:
        """The next task is planned so."""
        number = len(self.plans)
        self.plans.append(plan)
        for value in self.leaving.pop(number, ()):
            self.held_bytes -= aligned(self.resident.pop(value).tile_bytes)
            self.movable.pop(value, None)
        if plan.resident and self.last_use[self.tasks[number].result] > number:
            self._enter(number, plan)

    def go_back(self, values: Iterable[SSAValue]) -> None:
        """Only the tasks before those that compute these values are planned."""
        self.go_back_to(min(self.numbers[value] for value in values))

    def go_back_to(self, number: int) -> None:
        """Only the tasks before this one are planned."""
        self.planned_again += len(self.plans) - number
        del self.plans[number:]
        self.resident, self.movable, self.held_bytes, self.leaving = {}, {}, 0, {}
        for earlier, (info, plan) in enumerate(zip(self.tasks, self.plans, strict=False)):
            if plan.resident and self.last_use[info.result] >= number:
                self._enter(earlier, plan)

    def _enter(self, number: int, plan: TaskPlan) -> None:
        info = self.tasks[number]
        self.resident[info.result] = plan
        self.held_bytes += aligned(plan.tile_bytes)
        self.leaving.setdefault(self.last_use[info.result], []).append(info.result)
        if not is_written(info):
            self.movable[info.result] = None


def _largest_tile(info: TaskInfo, shortage: Shortage) -> str:
    """Which operand takes most of what a task needs, for messages."""
    if shortage.operand is None or not shortage.operand_bytes:
        return ""
    name = info.operands[shortage.operand].name_hint
    what = f"'{name}'" if name else f"operand {shortage.operand}"
    return f" ({shortage.operand_bytes} of them for {what})"


def _must_be_in_dram(function: FuncOp, tasks: tuple[TaskInfo, ...]) -> set[SSAValue]:
    """Results of the function, and values read by index."""
    found: set[SSAValue] = set()
    last = function.body.block.last_op
    if last is not None:
        found.update(storage_root(value) for value in last.operands)
    for info in tasks:
        for read in info.reads:
            value = info.operands[read.operand]
            root = storage_root(value)
            number, index = read.uses[0]
            if info.is_indexed(number, index):
                found.add(root)
    return found


def _detour(value: SSAValue, chip: Chip) -> float:
    """Cycles that storing a value to DRAM and loading it again costs."""
    return PASS_THROUGH * prod(shape_of(value)) * value_bytes(value) / chip.dram_bytes_per_cycle


def in_cores(
    tasks: Sequence[TaskInfo], plans: Sequence[TaskPlan], last_use: dict[SSAValue, int]
) -> dict[SSAValue, TaskPlan]:
    """Results that are in the cores when the task after those with `plans` begins -> how they were computed."""
    return {
        info.result: plan
        for info, plan in zip(tasks, plans, strict=False)
        if plan.resident and last_use[info.result] >= len(plans)
    }


def shapes_read(tasks: tuple[TaskInfo, ...]) -> dict[SSAValue, set[tuple[int, ...]]]:
    """Storage root -> the shapes in which tasks read it."""
    found: dict[SSAValue, set[tuple[int, ...]]] = {}
    for info in tasks:
        for value in info.operands:
            found.setdefault(storage_root(value), set()).add(shape_of(value))
    return found


def _plan_next(
    info: TaskInfo,
    chip: Chip,
    place: PlaceTiles,
    sources: Sequence[Source],
    *,
    available: int,
    stays: bool,
    read_as: set[tuple[int, ...]],
    memo: PlanMemo,
    grid: tuple[int, ...] | None = None,
) -> TaskPlan | Shortage:
    """
    Plan a task in so many bytes of SRAM; its result goes to DRAM where it must not or cannot stay. `grid`: the only one
    that may be taken.
    """

    def accept(found: tuple[int, ...]) -> bool:
        return grid is None or found == grid

    def plan(room: Room) -> TaskPlan | Shortage:
        if stays and read_as:
            plan = plan_task(info, chip, sources, room, readable_as(info, read_as), place, accept=accept)
            if isinstance(plan, TaskPlan):
                if not plan.resident or plan.fitting_steps < CROWDED_STEPS:
                    return plan
                other = plan_task(info, chip, sources, room, None, place, accept=accept)
                return other if isinstance(other, TaskPlan) and other.cycles < plan.cycles else plan
        return plan_task(info, chip, sources, room, None, place, accept=accept)

    return memo.plan(info, sources, available, (stays, frozenset(read_as), grid), plan)


def _planned_as_written(
    info: TaskInfo,
    chip: Chip,
    sources: Sequence[Source],
    available: int,
    free: int,
    must_leave: str | None,
    memo: PlanMemo,
) -> TaskPlan | Shortage:
    """`plan_written` in so many bytes of SRAM."""

    def plan(room: Room) -> TaskPlan | Shortage:
        return plan_written(info, chip, sources, room, free, must_leave)

    how = "written", info.op.tiling.data, info.op.space, must_leave, free - available
    return memo.plan(info, sources, available, how, plan)


def readable_as(info: TaskInfo, shapes: set[tuple[int, ...]]) -> Readable:
    """Whether a task's result can be read in these shapes where it is."""
    own = shape_of(info.result)
    others = shapes - {own}

    def readable(held: Callable[[], Distribution]) -> bool:
        if not others:
            return True
        distribution = held()
        return all(distribution.reshaped(own, shape) is not None for shape in others)

    return readable


def _must_leave(info: TaskInfo, in_dram: set[SSAValue], read_as: set[tuple[int, ...]]) -> str | None:
    """Why the result of a tiled task cannot stay in the cores, or None."""
    if info.result in in_dram:
        return "it is a result of the function or read by index"
    if not read_as:
        return "no task reads it"
    if read_as == {shape_of(info.result)}:
        return None
    tiles = info.op.tiling.data.tile_boxes(info.sizes)
    held = Distribution({core: info.root.result_box(tile) for core, tile in tiles.items()}, 0)
    for shape in sorted(read_as):
        if held.reshaped(shape_of(info.result), shape) is None:
            return f"it is read in shape {list(shape)}, in which its tiles are not contiguous"
    return None


def source_of(value: SSAValue, resident: Mapping[SSAValue, TaskPlan]) -> Source:
    """Where a value comes from, given the plans of the tasks whose results are in the cores."""
    root = storage_root(value)
    if root not in resident:
        return Source(None, isinstance(root.owner, ConstantOp | WeightOp))
    distribution = resident[root].distribution
    return Source(distribution.reshaped(shape_of(root), shape_of(value)), False)
