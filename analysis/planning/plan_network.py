"""
Planning of a network of tasks: a tiling for each task, and the choice of the values that stay in the cores between the
task that computes them and those that read them. Values that do not fit go to DRAM, the largest obstacle first, until
all tasks fit. The tasks after the one that computes such a value are planned again. Each time that as many plans have
been repeated as there are tasks, twice as many values are evicted at once, so that thousands of tasks take few rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...chips import Chip
from ...chips.dram_ports import dram_rate
from ...dialects.dataflow import LoopOp
from ...dialects.dataflow.types import shape_of
from ...dialects.locations import at, located
from ...dialects.manycore import Grid
from ...support.errors import InputError, ResourceError
from ...support.phases import phase
from ..tasks.task_info import TaskInfo, value_bytes
from .check_loops import check_loops
from .estimate import PASS_THROUGH, Pricing
from .kept_constants import Keeping, Sharing, find_sharing, keep_operands, kept_bytes, operand_bytes, with_loads
from .loop_grids import LoopGrids, first_of, loop_grids, spread_tilings
from .loops import held_as, held_rows, is_carry, loops_in, memory_root, part_of, spans_of, tasks_in
from .network_plan import NetworkPlan
from .plan_memo import PlanMemo
from .plan_prefix import PlanPrefix
from .plan_specified import is_specified, plan_specified, plan_tiled
from .plan_task import PlaceTiles, Readable, TaskRequest, plan_task
from .reads import ReadKind
from .resident_values import dram_reason, readable_as, shapes_read, source_of
from .sram_budget import SramBudget
from .task_plan import Shortage, Source, TaskPlan, aligned

CROWDED_STEPS = 8
"""
A task that needs at least this many steps to fit is planned again with fewer resident values, and the faster plan
taken.
"""
MOST_LOOP_PLANS = 6
"""Largest number of plans of a function with loops that are compared."""
WORKING_SHARE = 0.92
"""The share of SRAM that planning uses; the rest is for alignment, fragmentation and prefetch."""


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

    `memo` holds results of earlier calls for this chip and `place`. `pricing`: the prices by which tilings are compared
    if there are no loops.

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
    As `plan_network`; for a function with loops, several plans with different grids of the tasks in loops, the one with
    the fewest estimated cycles first.
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
    return sorted(found, key=lambda network: _cycles_of_loops(network, chip))[:MOST_LOOP_PLANS]


def _cycles_of_loops(network: NetworkPlan, chip: Chip) -> float:
    """Cycles of tasks in loops. A step that stores a row of a result takes at least the latency of DRAM."""
    least = {span: 0 if network.keeps_rows(span) else chip.dram_latency for span in network.loops}
    return sum(max(network.cycles_of_loop(span), least[span]) * span.steps for span in network.loops)


def _plan_all(
    function: FuncOp,
    chip: Chip,
    place: PlaceTiles,
    memo: PlanMemo,
    given: LoopGrids,
    pricing: Pricing = Pricing.HIDDEN,
) -> NetworkPlan:
    """As `plan_network`, with the tilings, grids and cores that are given for some tasks."""
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
        self._prefix = PlanPrefix(tasks, self._last_use)
        self._keeping = Keeping(find_sharing(tasks, list(map(memo.number, tasks))), chip)

    def plan(self) -> NetworkPlan:
        """The plan of all tasks. Raises as `plan_network`."""
        prefix = self._prefix
        while len(prefix.plans) < len(self._tasks):
            kept = self._keeping.beside(prefix.plans)
            held = prefix.held_bytes + sum(map(kept_bytes, kept.values()))
            plan = self._plan_next(held)
            if plan is not None:
                self._accept(plan, kept, held)
        return NetworkPlan(self._tasks, with_loads(self._tasks, prefix.plans), self._last_use, pricing=self._pricing)

    def _available(self, held: int) -> int:
        """Bytes of SRAM that a task that the compiler tiles may use in addition to `held` bytes."""
        return int(self._chip.sram_bytes * WORKING_SHARE) - held

    def _evict(self, values: set[SSAValue]) -> None:
        """Move these values to DRAM, and plan again from the first task on that computes one of them."""
        self._in_dram.update(values)
        self._prefix.go_back(values)

    def _plan_next(self, held: int) -> TaskPlan | Shortage | None:
        """
        Plan the next task with `held` resident bytes on each core. None: values were evicted, so that an earlier task
        is now the next one.
        """
        prefix, number = self._prefix, len(self._prefix.plans)
        info = self._tasks[number]
        free, available = self._chip.sram_bytes - held, self._available(held)
        sources = [source_of(value, prefix.resident) for value in info.operands]
        if is_specified(info):
            return self._plan_specified(info, keep_operands(sources, info.op.kept), available, free)
        if number in self._fixed:
            budget = SramBudget(available)
            return plan_tiled(info, self._chip, sources, self._fixed[number], budget, free, resident=True)
        planned = partial(self._plan_unspecified, number, available=available)
        plan = self._keeping.plan(prefix.plans, sources, planned)
        if plan is None and (victims := self._victims_of_kept(number, available)):
            self._evict(victims)
            return None
        plan = plan or planned(sources)
        # Many steps may mean that too many values are resident: the task may be faster with the largest values in DRAM.
        if isinstance(plan, TaskPlan) and plan.fitting_steps >= CROWDED_STEPS and prefix.movable:
            if victims := self._victims(number, plan, available):
                self._evict(victims)
                return None
        return plan

    def _victims(self, number: int, plan: TaskPlan, available: int) -> set[SSAValue]:
        """The largest movable values if a task is faster than with `plan` when they are in DRAM, else none."""
        prefix, info = self._prefix, self._tasks[number]
        victims = prefix.in_the_way()
        rest = {value: one for value, one in prefix.resident.items() if value not in victims}
        more = available + sum(prefix.bytes_of(victim) for victim in victims)
        sources = [source_of(value, rest) for value in info.operands]
        other = self._plan_unspecified(number, sources, available=more)
        detour = sum(_detour(victim, self._chip) for victim in victims)
        return victims if isinstance(other, TaskPlan) and other.cycles + detour < plan.cycles else set()

    def _victims_of_kept(self, number: int, available: int) -> set[SSAValue]:
        """
        The largest movable values, if a task in a loop can keep its constants when they are in DRAM, and to store and
        load them takes less time than to load the constants in every step; else none.
        """
        prefix, info = self._prefix, self._tasks[number]
        constants, loop = self._keeping.in_loop(number), info.op.parent_op()
        if not constants or not isinstance(loop, LoopOp):
            return set()
        left = (loop.step_count - 1) * sum(operand_bytes(info, one) for one in constants) / dram_rate(self._chip)
        victims: set[SSAValue] = set()
        for value in sorted(prefix.movable, key=prefix.bytes_of, reverse=True):
            victims.add(value)
            left -= _detour(value, self._chip)
            if left <= 0:
                break
            available += prefix.bytes_of(value)
            rest = {one: plan for one, plan in prefix.resident.items() if one not in victims}
            sources = [source_of(operand, rest) for operand in info.operands]
            planned = partial(self._plan_unspecified, number, available=available)
            if self._keeping.plan(prefix.plans, sources, planned) is not None:
                return victims
        return set()

    def _plan_unspecified(
        self, number: int, sources: Sequence[Source], *, available: int, grid: Grid | None = None
    ) -> TaskPlan | Shortage:
        """
        Plan a task that the compiler tiles in `available` bytes of SRAM; its result goes to DRAM if it must not or
        cannot stay. `grid`: the only grid allowed, in place of the one that is given for the task.
        """
        info, chip, pricing = self._tasks[number], self._chip, self._pricing
        value = held_as(info.result)
        stays, read_as = value not in self._in_dram, self._shapes.get(memory_root(value), set())
        grid, cores = self._grids.get(number) if grid is None else grid, self._cores.get(number, ())
        place = first_of(cores, self._place)

        def plan(budget: SramBudget) -> TaskPlan | Shortage:
            def planned(readable: Readable | None) -> TaskPlan | Shortage:
                request = TaskRequest(info, chip, sources, readable, place, grid=grid, pricing=pricing)
                return plan_task(request, budget)

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
        """`plan_specified` in `available` bytes of SRAM."""
        value = held_as(info.result)
        must_leave = dram_reason(info, value in self._in_dram, self._shapes.get(memory_root(value), set()))

        def plan(budget: SramBudget) -> TaskPlan | Shortage:
            return plan_specified(info, self._chip, sources, budget, free, must_leave)

        how = "written", info.op.tiling.data, info.op.space, must_leave, free - available
        with at(info.op):
            return self._memo.plan(info, sources, available, how, plan)

    def _accept(self, plan: TaskPlan | Shortage, kept: Mapping[Sharing, TaskPlan], held: int) -> None:
        """
        Continue with the next task; or, if the plan is None or cannot be used, evict values to DRAM and go back. Raises
        ResourceError if there is no value left to evict.
        """
        prefix, info = self._prefix, self._tasks[len(self._prefix.plans)]
        value, available = held_as(info.result), self._available(held)
        if isinstance(plan, TaskPlan) and (apart := _rows_elsewhere(info, plan, prefix.resident)):
            # A step reads rows of its own core only: rows of other cores must come from DRAM.
            if specified := next((value for value in apart if value not in prefix.movable), None):
                raise _rows_misplaced(info, specified)
            for value in apart:
                self._grids.pop(prefix.numbers[value], None)
            self._evict(apart)
        elif isinstance(plan, TaskPlan) and value is not info.result and _is_too_much(info, plan, available):
            self._in_dram.add(value)
        elif isinstance(plan, TaskPlan):
            prefix.add(plan)
        elif kept and not is_specified(info):
            prefix.go_back_to(self._keeping.give_up(kept))
        elif prefix.movable:
            self._evict(prefix.in_the_way())
        else:
            free = self._chip.sram_bytes - held if is_specified(info) else available
            raise located(_does_not_fit(info, plan, self._chip, free), info.op)


def _does_not_fit(info: TaskInfo, plan: Shortage, chip: Chip, free: int) -> ResourceError:
    """
    The error of a task that does not fit as specified, or, if the compiler tiles it, not even in the smallest tiles.
    """
    if is_specified(info):
        message = (
            f"task '{info.name}' does not fit as it is tiled: it needs {plan.needed} bytes of SRAM on core "
            f"{info.op.tiling.cores[-1]}{_largest_tile(info, plan)}, where {free} of {chip.sram_bytes} are free; "
            f"cut it into more steps, or place results of earlier tasks in dram"
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
        f"task '{info.name}' of a loop scans {what} in sram, but its rows are on other cores than those that "
        "read them: place it in dram"
    )
    return located(error, info.op)


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
