"""
Plan a network of tasks: a tiling for each, and which values stay in the cores between the task that computes them and
those that read them. Values that do not fit go to DRAM: the largest obstacle first, until all tasks fit. The tasks
after the one that computes it are planned again; each time that as many plans were repeated as there are tasks, twice
as many values are evicted at once, so that thousands of tasks take few rounds.
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
from ...chips.dram_ports import dram_rate
from ...dialects.dataflow import ConstantOp, LoopOp, ReshapeOp, WeightOp
from ...dialects.dataflow.types import shape_of
from ...dialects.locations import at, located
from ...dialects.manycore import Grid
from ...support.errors import InputError, ResourceError
from ...support.phases import phase
from ..tasks.task_info import TaskInfo, value_bytes
from .estimate import PASS_THROUGH, Pricing
from .kept_constants import (
    Keeping,
    ReadOf,
    Sharing,
    find_sharing,
    first_of_kept,
    keep_operands,
    kept_bytes,
    with_loads,
)
from .loop_grids import LoopGrids, first_of, loop_grids, spread_tilings
from .loops import (
    LoopSpan,
    held_as,
    held_rows,
    is_carry,
    loops_in,
    memory_root,
    part_of,
    spans_of,
    tasks_in,
    written_part,
)
from .plan_memo import PlanMemo
from .plan_specified import is_specified, plan_specified, plan_tiled
from .plan_task import PlaceTiles, Readable, Shortage, Source, TaskPlan, aligned, plan_task
from .prefetch_candidates import PREFETCH_POLICIES, PrefetchPolicy
from .reads import ReadKind
from .sram_budget import SramBudget
from .storage import Distribution

CROWDED_STEPS = 8
"""
A task that needs at least this many steps to fit is planned again with fewer resident values, and the faster plan
taken.
"""
MOST_LOOP_PLANS = 6
"""Largest number of plans of a function with loops that are compared."""
WORKING_SHARE = 0.92
"""The share of SRAM that planning uses; the rest is for alignment, fragmentation and prefetch."""


def storage_root(value: SSAValue) -> SSAValue:
    """The value whose memory a value uses: reshapes outside of tasks are views."""
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
    policy: PrefetchPolicy = PREFETCH_POLICIES[0]
    """A prefetch policy: how early constants are loaded."""
    pricing: Pricing = Pricing.HIDDEN
    """The pricing by which the tilings were chosen."""

    @cached_property
    def roots(self) -> tuple[tuple[SSAValue, ...], ...]:
        """By task, the storage roots of its operands."""
        return tuple(tuple(map(memory_root, info.operands)) for info in self.tasks)

    @cached_property
    def loops(self) -> tuple[LoopSpan, ...]:
        """The loops around tasks."""
        return spans_of(self.tasks)

    @cached_property
    def loop_of(self) -> dict[int, LoopSpan]:
        """Number of a task -> its loop, if any."""
        return {number: span for span in self.loops for number in range(span.first, span.last + 1)}

    @cached_property
    def kept(self) -> dict[ReadOf, ReadOf]:
        """Reads of kept constants -> the read that loads them (see `kept_constants`)."""
        return first_of_kept(self.tasks, self.plans)

    @cached_property
    def kept_until(self) -> dict[ReadOf, int]:
        """Reads that load kept constants -> number of the last task that reads these."""
        last = {first: number for (number, _), first in self.kept.items()}
        return {
            first: self.loop_of[number].last if number in self.loop_of else number for first, number in last.items()
        }

    def cycles_of_step(self, number: int) -> float:
        """Estimated cycles of a task in a loop, in isolation, in a step that finds its resident operands."""
        return self.plans[number].loading(()).cycles

    def cycles_of_loop(self, span: LoopSpan) -> float:
        """Estimated cycles of a step of a loop in which each core runs its tasks one after the other."""
        cycles: dict[int, float] = {}
        for number in range(span.first, span.last + 1):
            own = self.cycles_of_step(number)
            for core in self.plans[number].tiling.cores:
                cycles[core] = cycles.get(core, 0.0) + own
        return max(cycles.values(), default=0.0)

    @property
    def resident(self) -> dict[SSAValue, int]:
        """Resident values -> number of the task that computes them, or a part of them in each step of a loop."""
        return {held_as(info.result): number for number, info in enumerate(self.tasks) if self.plans[number].resident}


@phase("plan tasks")
def plan_network(
    function: FuncOp,
    chip: Chip,
    place: PlaceTiles,
    memo: PlanMemo | None = None,
    pricing: Pricing = Pricing.HIDDEN,
) -> NetworkPlan:
    """
    Plan all tasks of a function. A task that specifies the memory of its result keeps that and its tiling.

    `memo` holds results of earlier calls for this chip and `place`. `pricing`: by which prices tilings are compared
    where there are no loops.

    Raises InputError naming a task whose specified tiling is not possible, MeshloomError naming task, core, bytes
    needed and bytes available if a task does not fit even alone, ResourceError for a loop whose carried values do not
    fit the cores.
    """
    return network_plans(function, chip, place, memo, pricing)[0]


def network_plans(
    function: FuncOp,
    chip: Chip,
    place: PlaceTiles,
    memo: PlanMemo | None = None,
    pricing: Pricing = Pricing.HIDDEN,
) -> list[NetworkPlan]:
    """
    As `plan_network`; of a function with loops, plans with different grids of the tasks in these, the one with the
    fewest estimated cycles first.
    """
    memo = PlanMemo() if memo is None else memo
    network = _plan_all(function, chip, place, memo, LoopGrids({}, {}), pricing)
    if not network.loops:
        return [network]
    if all(map(is_specified, network.tasks)):
        check_loops(network)
        return [network]
    found: list[NetworkPlan] = []
    failure: ResourceError | None = None
    for one in loop_grids(network.tasks, network.loops, chip, place):
        try:
            network = _plan_all(function, chip, place, memo, one)
            check_loops(network)
            found.append(network)
        except ResourceError as error:
            failure = failure or error
    if not found:
        assert failure is not None
        raise failure
    return sorted(found, key=_cycles_of_loops)[:MOST_LOOP_PLANS]


def _cycles_of_loops(network: NetworkPlan) -> float:
    """Cycles of tasks in loops."""
    return sum(network.cycles_of_loop(span) * span.steps for span in network.loops)


def _plan_all(
    function: FuncOp,
    chip: Chip,
    place: PlaceTiles,
    memo: PlanMemo,
    given: LoopGrids,
    pricing: Pricing = Pricing.HIDDEN,
) -> NetworkPlan:
    """As `plan_network`, with the tilings, grids and cores that are given of some tasks."""
    return _NetworkPlanner(function, chip, place, memo, given, pricing).plan()


class _NetworkPlanner:
    """
    Plans the tasks of a function in order. If a task does not fit with the resident values, earlier results are evicted
    to DRAM, and planning goes back to the first of the tasks that compute them.
    """

    def __init__(
        self, function: FuncOp, chip: Chip, place: PlaceTiles, memo: PlanMemo, given: LoopGrids, pricing: Pricing
    ) -> None:
        self._chip, self._place, self._memo, self._pricing = chip, place, memo, pricing
        tasks = self._tasks = tuple(map(memo.info, tasks_in(function)))
        self._grids, self._cores = dict(given.grids), given.cores
        self._fixed = {**given.tilings, **spread_tilings(tasks, place)}
        self._last_use = last_uses(tasks)
        self._in_dram = _must_be_in_dram(function, tasks)
        self._shapes = shapes_read(tasks)
        self._begun = _Begun(tasks, self._last_use)
        self._keeping = Keeping(find_sharing(tasks, list(map(memo.number, tasks))), chip)

    def plan(self) -> NetworkPlan:
        """The plan of all tasks. Raises as `plan_network`."""
        begun = self._begun
        while len(begun.plans) < len(self._tasks):
            kept = self._keeping.beside(begun.plans)
            held = begun.held_bytes + sum(map(kept_bytes, kept.values()))
            plan = self._plan_next(held)
            if plan is not None:
                self._accept(plan, kept, held)
        return NetworkPlan(self._tasks, with_loads(self._tasks, begun.plans), self._last_use, pricing=self._pricing)

    def _available(self, held: int) -> int:
        """Bytes of SRAM that a task that the compiler tiles may use in addition to `held` bytes."""
        return int(self._chip.sram_bytes * WORKING_SHARE) - held

    def _evict(self, values: set[SSAValue]) -> None:
        """Let these values be in DRAM, and plan again from the first of them on."""
        self._in_dram.update(values)
        self._begun.go_back(values)

    def _plan_next(self, held: int) -> TaskPlan | Shortage | None:
        """
        Plan the next task with `held` resident bytes on each core. None: values were evicted, so that an earlier task
        is now the next one.
        """
        begun, number = self._begun, len(self._begun.plans)
        info = self._tasks[number]
        free, available = self._chip.sram_bytes - held, self._available(held)
        sources = [source_of(value, begun.resident) for value in info.operands]
        if is_specified(info):
            return self._plan_specified(info, keep_operands(sources, info.op.kept), available, free)
        if number in self._fixed:
            budget = SramBudget(available)
            return plan_tiled(info, self._chip, sources, self._fixed[number], budget, free, resident=True)
        planned = partial(self._plan_unspecified, number, available=available)
        plan = self._keeping.plan(begun.plans, sources, planned) or planned(sources)
        # Many steps may mean that too many values are resident: is it faster with the largest values in DRAM?
        if isinstance(plan, TaskPlan) and plan.fitting_steps >= CROWDED_STEPS and begun.movable:
            if victims := self._victims(number, plan, available):
                self._evict(victims)
                return None
        return plan

    def _victims(self, number: int, plan: TaskPlan, available: int) -> set[SSAValue]:
        """The largest movable values if a task is faster than with `plan` when they are in DRAM, else none."""
        begun, info = self._begun, self._tasks[number]
        victims = begun.in_the_way()
        rest = {value: one for value, one in begun.resident.items() if value not in victims}
        more = available + sum(begun.bytes_of(victim) for victim in victims)
        sources = [source_of(value, rest) for value in info.operands]
        other = self._plan_unspecified(number, sources, available=more)
        detour = sum(_detour(victim, self._chip) for victim in victims)
        return victims if isinstance(other, TaskPlan) and other.cycles + detour < plan.cycles else set()

    def _plan_unspecified(
        self, number: int, sources: Sequence[Source], *, available: int, grid: Grid | None = None
    ) -> TaskPlan | Shortage:
        """
        Plan a task that the compiler tiles in so many bytes of SRAM; its result goes to DRAM if it must not or cannot
        stay. `grid`: the only one allowed, in place of the one that is given for the task.
        """
        info, chip, pricing = self._tasks[number], self._chip, self._pricing
        value = held_as(info.result)
        stays, read_as = value not in self._in_dram, self._shapes.get(memory_root(value), set())
        grid, cores = self._grids.get(number) if grid is None else grid, self._cores.get(number, ())
        place = first_of(cores, self._place)

        def plan(budget: SramBudget) -> TaskPlan | Shortage:
            def planned(readable: Readable | None) -> TaskPlan | Shortage:
                return plan_task(info, chip, sources, budget, readable, place, grid=grid, pricing=pricing)

            if stays and read_as:
                plan = planned(readable_as(info, read_as))
                if isinstance(plan, TaskPlan):
                    if not plan.resident or plan.fitting_steps < CROWDED_STEPS:
                        return plan
                    other = planned(None)
                    return other if isinstance(other, TaskPlan) and other.cycles < plan.cycles else plan
            return planned(None)

        return self._memo.plan(info, sources, available, (stays, frozenset(read_as), grid, cores, pricing), plan)

    def _plan_specified(
        self, info: TaskInfo, sources: Sequence[Source], available: int, free: int
    ) -> TaskPlan | Shortage:
        """`plan_specified` in so many bytes of SRAM."""
        value = held_as(info.result)
        must_leave = _must_leave(info, value in self._in_dram, self._shapes.get(memory_root(value), set()))

        def plan(budget: SramBudget) -> TaskPlan | Shortage:
            return plan_specified(info, self._chip, sources, budget, free, must_leave)

        how = "written", info.op.tiling.data, info.op.space, must_leave, free - available
        with at(info.op):
            return self._memo.plan(info, sources, available, how, plan)

    def _accept(self, plan: TaskPlan | Shortage, kept: Mapping[Sharing, TaskPlan], held: int) -> None:
        """
        Continue with the next task; or, if the plan is None or cannot be used, evict values to DRAM and go back. Raises
        ResourceError if nothing is left to go to DRAM.
        """
        begun, info = self._begun, self._tasks[len(self._begun.plans)]
        value, available = held_as(info.result), self._available(held)
        if isinstance(plan, TaskPlan) and (apart := _rows_elsewhere(info, plan, begun.resident)):
            # A step reads rows of its own core only: rows of other cores must come from DRAM.
            if specified := next((value for value in apart if value not in begun.movable), None):
                raise _rows_misplaced(info, specified)
            for value in apart:
                self._grids.pop(begun.numbers[value], None)
            self._evict(apart)
        elif isinstance(plan, TaskPlan) and value is not info.result and _is_too_much(info, plan, available):
            self._in_dram.add(value)
        elif isinstance(plan, TaskPlan):
            begun.add(plan)
        elif kept and not is_specified(info):
            begun.go_back_to(self._keeping.give_up(kept))
        elif begun.movable:
            self._evict(begun.in_the_way())
        else:
            free = self._chip.sram_bytes - held if is_specified(info) else available
            raise located(_does_not_fit(info, plan, self._chip, free), info.op)


def _does_not_fit(info: TaskInfo, plan: Shortage, chip: Chip, free: int) -> ResourceError:
    """The error of a task that fits neither as specified nor, where the compiler tiles it, in the smallest tiles."""
    if is_specified(info):
        message = (
            f"task '{info.name}' does not fit as it is tiled: it needs {plan.needed} bytes of SRAM on core "
            f"{info.op.tiling.cores[-1]}{_largest_tile(info, plan)}, where {free} of {chip.sram_bytes} are free; "
            f"cut it into more steps, or place results of tasks before it in dram"
        )
    else:
        message = (
            f"task '{info.name}' does not fit: its smallest tile needs {plan.needed} bytes of SRAM on core "
            f"{chip.usable_cores[0]}{_largest_tile(info, plan)}, where {free} of {chip.sram_bytes} may be used; "
            f"choose a chip with more SRAM per core"
        )
    return ResourceError(message, "SRAM of a core", plan.needed, free)


def _is_too_much(info: TaskInfo, plan: TaskPlan, available: int) -> bool:
    """Whether a resident value that a loop stacks does not fit; the plan of a step counts one part of it."""
    rest = aligned(plan.tile_bytes * held_rows(info.result)) - aligned(plan.tile_bytes)
    return plan.resident and not is_specified(info) and plan.working_bytes + rest > available


def _rows_elsewhere(info: TaskInfo, plan: TaskPlan, resident: Mapping[SSAValue, TaskPlan]) -> set[SSAValue]:
    """Resident values of which a task in a loop reads rows from other cores."""
    found: set[SSAValue] = set()
    for read in plan.reads:
        part = part_of(memory_root(info.operands[read.read.operand]))
        if part is not None and part.whole in resident and read.kind is not ReadKind.DIRECT:
            found.add(part.whole)
    return found


def _rows_misplaced(info: TaskInfo, value: SSAValue) -> InputError:
    name = value.name_hint
    what = "a value" if name is None else f"'{name}'"
    error = InputError(
        f"task '{info.name}' of a loop scans {what} in sram, where cores do not hold the rows that they need: place it "
        "in dram"
    )
    return located(error, info.op)


@dataclass
class _Begun:
    """Plans of the first tasks, and the results that are in the cores when the next task begins."""

    tasks: tuple[TaskInfo, ...]
    last_use: dict[SSAValue, int]
    plans: list[TaskPlan] = field(default_factory=list[TaskPlan])
    resident: dict[SSAValue, TaskPlan] = field(default_factory=dict[SSAValue, TaskPlan])
    movable: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Those of `resident` that may go to DRAM: their tasks do not specify a memory."""
    held_bytes: int = 0
    """Bytes of SRAM of a core that `resident` takes."""
    leaving: dict[int, list[SSAValue]] = field(default_factory=dict[int, list[SSAValue]])
    """Number of a task -> the values of `resident` of which it is the last reader."""
    planned_again: int = 0
    """Total number of plans that were discarded."""

    @cached_property
    def bound(self) -> set[SSAValue]:
        """Results that must stay in the cores: of tasks in loops, and carried values."""
        spans = spans_of(self.tasks)
        carried = {memory_root(value) for span in spans for value in (*span.op.initial, *span.numbers)}
        return carried | {info.result for span in spans for info in self.tasks[span.first : span.last + 1]}

    @cached_property
    def numbers(self) -> dict[SSAValue, int]:
        """The value that a task computes, or a part of it in each step of a loop -> the task's number."""
        return {held_as(info.result): number for number, info in enumerate(self.tasks)}

    def bytes_of(self, value: SSAValue) -> int:
        """Bytes of SRAM of a core that a resident value takes."""
        return aligned(self.resident[value].tile_bytes * held_rows(self.tasks[self.numbers[value]].result))

    def in_the_way(self) -> set[SSAValue]:
        """
        The values that go to DRAM if the task does not fit: those with the largest tiles; ties go to the earlier one.
        """
        count = 1 << self.planned_again // len(self.tasks)
        return set(nlargest(count, self.movable, lambda value: (self.bytes_of(value), -self.numbers[value])))

    def add(self, plan: TaskPlan) -> None:
        """Append the plan of the next task."""
        number = len(self.plans)
        self.plans.append(plan)
        for value in self.leaving.pop(number, ()):
            self.held_bytes -= self.bytes_of(value)
            del self.resident[value]
            self.movable.pop(value, None)
        if plan.resident and self.last_use[held_as(self.tasks[number].result)] > number:
            self._enter(number, plan)

    def go_back(self, values: Iterable[SSAValue]) -> None:
        """Discard the plans from the first task on that computes one of these values."""
        self.go_back_to(min(self.numbers[value] for value in values))

    def go_back_to(self, number: int) -> None:
        """Discard the plans from this task on."""
        self.planned_again += len(self.plans) - number
        del self.plans[number:]
        self.resident, self.movable, self.held_bytes, self.leaving = {}, {}, 0, {}
        for earlier, (info, plan) in enumerate(zip(self.tasks, self.plans, strict=False)):
            if plan.resident and self.last_use[held_as(info.result)] >= number:
                self._enter(earlier, plan)

    def _enter(self, number: int, plan: TaskPlan) -> None:
        info = self.tasks[number]
        value = held_as(info.result)
        self.resident[value] = plan
        self.held_bytes += self.bytes_of(value)
        self.leaving.setdefault(self.last_use[value], []).append(value)
        if not is_specified(info) and value not in self.bound:
            self.movable[value] = None


def _largest_tile(info: TaskInfo, shortage: Shortage) -> str:
    """The operand that takes most of the memory of a task, for messages."""
    if shortage.operand is None or not shortage.operand_bytes:
        return ""
    name = info.operands[shortage.operand].name_hint
    what = f"'{name}'" if name else f"operand {shortage.operand}"
    return f" ({shortage.operand_bytes} of them for {what})"


def last_uses(tasks: Sequence[TaskInfo]) -> dict[SSAValue, int]:
    """
    Number of the last task that reads a value (by storage root); for a value that is live in all steps of a loop, the
    last task of the loop.
    """
    found: dict[SSAValue, int] = {}
    spans = spans_of(tasks)
    span_of = {number: span for span in spans for number in range(span.first, span.last + 1)}
    computed = {info.result: number for number, info in enumerate(tasks) if not is_carry(info)}
    for number, info in enumerate(tasks):
        span = span_of.get(number)
        for value in info.operands:
            root = memory_root(value)
            last = number
            if span is not None and computed.get(root, -1) not in span:
                last = span.last
                if (part := part_of(root)) is not None:
                    found[part.whole] = max(found.get(part.whole, -1), last)
            found[root] = max(found.get(root, -1), last)
        if span is not None and is_carry(info):
            found[info.result] = span.last
    for span in spans:
        for root in (*map(memory_root, span.op.initial), *span.numbers):
            found[root] = max(found.get(root, -1), span.last)
    return found


def check_loops(network: NetworkPlan) -> None:
    """
    Raises ResourceError, located, for a loop whose values do not stay in the cores, or whose steps do not leave carried
    values where the loop expects them.
    """
    numbers = {info.result: number for number, info in enumerate(network.tasks)}
    for span in network.loops:
        for number in range(span.first, span.last + 1):
            info, plan = network.tasks[number], network.plans[number]
            if not plan.resident and part_of(info.result) is None:
                raise _no_loop(span, f"the result of task '{info.name}' does not stay in the cores")
        cores = {core for info in network.tasks for core in network.plans[numbers[info.result]].tiling.cores}
        for value in span.numbers:
            plan = None if value not in numbers else network.plans[numbers[value]]
            if plan is None or not plan.resident or not cores <= set(plan.tiling.cores):
                raise _no_loop(span, "not every core has the number of its steps")
        for first, value in zip(span.op.initial, span.op.yielded, strict=False):
            begin, again = numbers.get(memory_root(first)), numbers.get(value)
            if begin is None or again is None or begin >= span.first:
                raise _no_loop(span, "it carries what no task computes")
            before, after = network.plans[begin], network.plans[again]
            if not before.resident or not after.resident:
                raise _no_loop(span, f"'{network.tasks[again].name}' does not stay in the cores")
            here = after.distribution.reshaped(shape_of(value), shape_of(first))
            there = before.distribution.reshaped(shape_of(network.tasks[begin].result), shape_of(first))
            if here is None or there is None or here.boxes != there.boxes:
                raise _no_loop(
                    span, f"tasks '{network.tasks[begin].name}' and '{network.tasks[again].name}' are tiled differently"
                )


def _no_loop(span: LoopSpan, why: str) -> ResourceError:
    error = ResourceError(f"a loop of {span.steps} steps cannot be carried out as it is: {why}", "SRAM of a core", 0, 0)
    return located(error, span.op)


def _must_be_in_dram(function: FuncOp, tasks: tuple[TaskInfo, ...]) -> set[SSAValue]:
    """Results of the function, values read by index, and stacked values that no task reads."""
    found: set[SSAValue] = set()
    last = function.body.block.last_op
    if last is not None:
        found.update(memory_root(value) for value in last.operands)
    read = {memory_root(value) for info in tasks for value in info.operands}
    read |= {part.whole for value in read if (part := part_of(value)) is not None}
    for loop in loops_in(function.body.block):
        found.update(value for value in loop.stacked if value not in read)
    for info in tasks:
        for read in info.reads:
            value = info.operands[read.operand]
            root = memory_root(value)
            number, index = read.uses[0]
            if info.is_indexed(number, index):
                found.add(root)
    return found


def _detour(value: SSAValue, chip: Chip) -> float:
    """Cycles to store a value to DRAM and load it again."""
    return PASS_THROUGH * prod(shape_of(value)) * value_bytes(value) / dram_rate(chip)


def in_cores(
    tasks: Sequence[TaskInfo], plans: Sequence[TaskPlan], last_use: dict[SSAValue, int]
) -> dict[SSAValue, TaskPlan]:
    """Results that are in the cores when the task after those with `plans` begins -> their plans."""
    return {
        held_as(info.result): plan
        for info, plan in zip(tasks, plans, strict=False)
        if plan.resident and last_use[held_as(info.result)] >= len(plans)
    }


def shapes_read(tasks: tuple[TaskInfo, ...]) -> dict[SSAValue, set[tuple[int, ...]]]:
    """Storage root -> the shapes in which tasks read it."""
    found: dict[SSAValue, set[tuple[int, ...]]] = {}
    for info in tasks:
        for value in info.operands:
            found.setdefault(memory_root(value), set()).add(shape_of(value))
    for span in spans_of(tasks):
        for value in (*span.op.scanned, *span.numbers):
            found.setdefault(memory_root(value), set()).add(shape_of(value))
    return found


def readable_as(info: TaskInfo, shapes: set[tuple[int, ...]]) -> Readable:
    """Whether a task's result can be read in these shapes from its present tiles."""
    own = _held_shape(info.result)
    others = shapes - {own}

    def readable(held: Callable[[], Distribution]) -> bool:
        if not others:
            return True
        distribution = _held(info.result, held())
        return all(distribution.reshaped(own, shape) is not None for shape in others)

    return readable


def _held(result: SSAValue, distribution: Distribution) -> Distribution:
    """The distribution of the value whose memory holds a task's result, in the shape that `_held_shape` returns."""
    part = written_part(result)
    return distribution if part is None else distribution.stacked(part.rows)


def _held_shape(result: SSAValue) -> tuple[int, ...]:
    part = written_part(result)
    return shape_of(result) if part is None else (part.rows, *shape_of(result))


def _must_leave(info: TaskInfo, in_dram: bool, read_as: set[tuple[int, ...]]) -> str | None:
    """The reason why the result of a tiled task cannot stay in the cores, or None. `in_dram`: readers need it there."""
    if in_dram:
        return "it is a result of the function or read by index"
    if not read_as:
        return "no task reads it"
    own = _held_shape(info.result)
    if read_as == {own}:
        return None
    tiles = info.op.tiling.data.tile_boxes(info.sizes)
    held = Distribution({core: info.root.result_box(tile) for core, tile in tiles.items()}, 0)
    held = _held(info.result, held)
    for shape in sorted(read_as):
        if held.reshaped(own, shape) is None:
            return f"it is read in shape {list(shape)}, in which its tiles are not contiguous"
    return None


def source_of(value: SSAValue, resident: Mapping[SSAValue, TaskPlan]) -> Source:
    """The source of a value, given the plans of the tasks whose results are in the cores."""
    root = memory_root(value)
    part = part_of(root)
    if part is not None and part.whole in resident:
        whole = shape_of(part.whole)
        held = _spread(part.whole, resident[part.whole])
        return Source(None if held is None else held.row(whole, part.rows, shape_of(value)), False)
    if root not in resident:
        return Source(None, isinstance(root.owner, ConstantOp | WeightOp))
    held = _spread(root, resident[root])
    return Source(None if held is None else held.reshaped(shape_of(root), shape_of(value)), False)


def _spread(root: SSAValue, plan: TaskPlan) -> Distribution | None:
    """The distribution of a value, given the plan of the task that computes it, or a part of it in each step."""
    loop = root.owner
    if not isinstance(loop, LoopOp) or root not in loop.stacked:
        return plan.distribution
    result = next(one for one, whole in zip(loop.yielded, loop.results, strict=True) if whole is root)
    return _held(result, plan.distribution).reshaped(_held_shape(result), shape_of(root))
