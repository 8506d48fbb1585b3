"""
Beam search over the tilings of a network, in which each tiling is evaluated together with the tasks that follow.

`plan_network` takes the best tiling of each task in isolation, and the readers have to accept the distribution of its
result. Here several partial plans are continued from task to task, each with the clocks of the estimate; of those with
the same distributions of values only the fastest is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import SSAValue

from ...chips import Chip
from ...support.errors import ResourceError
from ...support.phases import phase
from .clock_kernels import Tasks
from .kept_constants import keep_operands, with_loads
from .network_estimate import Code, NetworkRun, TaskWorks, exact_work, work_beside
from .network_plan import NetworkPlan
from .plan_memo import PlanMemo
from .plan_network import WORKING_SHARE
from .plan_specified import is_specified
from .plan_task import PlaceTiles, TaskRequest, task_plans
from .prefetch_candidates import PREFETCH_POLICIES
from .resident_values import readable_as, shapes_read, source_of
from .sram_budget import SramBudget
from .sram_layout import SramLayout, estimated_times, lay_out_sram
from .task_plan import Shortage, TaskPlan, aligned

BEAM = 6
"""Width of the beam: partial plans that are continued after each task."""
TILINGS = 4
"""Number of tilings of a task with which each partial plan is continued."""
DRAM_BOUND_RATIO = 1.1
"""
A network whose estimate is at most this ratio times its transfers from DRAM is not searched, as it has little to gain.
"""
CONTENTION = 0.3
"""
Of the three times of a task (units, DRAM, network) the longest is part of the run. This share of the other two is added
to it, since neighbouring tasks cannot use them meanwhile; less than `NEIGHBOURS`, as the run contains most of it.
"""


@phase("tiling beam search")
def tiling_beam_search(
    network: NetworkPlan, chip: Chip, place: PlaceTiles, memo: PlanMemo | None = None
) -> NetworkPlan:
    """
    A plan that is estimated to be faster than `network`, or `network` itself. The same values stay in the cores.

    A network with tasks that were tiled before does not change. `memo`: of its tasks, for this chip and `place`.
    """
    if len(network.tasks) < 2 or network.loops or any(is_specified(info) for info in network.tasks):
        return network
    works = TaskWorks(network)
    try:
        prefetched, layout, cycles = _best_prefetch(network, chip, works)
    except ResourceError:
        return network  # computed on demand
    if cycles <= DRAM_BOUND_RATIO * sum(plan.work.own_dram for plan in network.plans):
        return network
    plans = _Search(prefetched, layout, works.beside(layout.code), chip, place, memo or PlanMemo()).best()
    if plans is None or all(new.tiling == old.tiling for new, old in zip(plans, network.plans, strict=True)):
        return network
    other = replace(prefetched, plans=with_loads(network.tasks, plans))
    works = TaskWorks(other)
    try:
        layout = lay_out_sram(other, chip, works)
    except ResourceError:
        return network
    price = sum(estimated_times(other, layout, chip, works)) + _beside_cycles(other)
    return other if price < cycles + _beside_cycles(network) else network


def _best_prefetch(network: NetworkPlan, chip: Chip, works: TaskWorks) -> tuple[NetworkPlan, SramLayout, int]:
    """The network with the prefetch policy of the best estimate, its layout, and the estimate."""
    found: list[tuple[NetworkPlan, SramLayout, int]] = []
    for policy in dict.fromkeys(replace(policy, multi_buffered=False) for policy in PREFETCH_POLICIES):
        prefetched = replace(network, policy=policy)
        layout = lay_out_sram(prefetched, chip, works)
        found.append((prefetched, layout, sum(estimated_times(prefetched, layout, chip, works))))
    return min(found, key=lambda one: one[2])


def _beside_cycles(network: NetworkPlan) -> float:
    """The terms of the prices of plans in addition to cycles."""
    return sum(plan.price - plan.cycles for plan in network.plans)


@dataclass(frozen=True)
class _Partial:
    """Plans of the first tasks."""

    plans: tuple[TaskPlan, ...]
    held: dict[SSAValue, TaskPlan]
    """Results in the cores that later tasks read -> their plans."""
    run: NetworkRun
    missed: float
    """Price in addition to the cycles of the run so far."""

    @property
    def cost(self) -> float:
        return self.run.reached + self.missed


@dataclass
class _Search:
    network: NetworkPlan
    """The initial plan, which determines the values that stay in the cores."""
    layout: SramLayout
    """The initial layout, which determines prefetch."""
    works: Tasks
    """The work of its tasks."""
    chip: Chip
    place: PlaceTiles
    memo: PlanMemo

    @cached_property
    def _numbers(self) -> dict[SSAValue, int]:
        """Numbers of tasks by their results."""
        return {info.result: number for number, info in enumerate(self.network.tasks)}

    @cached_property
    def _kept_beside(self) -> list[int]:
        """By task, bytes of kept constants that it does not read."""
        found = [0] * len(self.network.tasks)
        reading = {(number, first) for (number, _), first in self.network.kept.items()}
        for (task, index), last in self.network.kept_until.items():
            nbytes = aligned(self.network.plans[task].sizes[index].buffer_bytes)
            for number in range(task, last + 1):
                if (number, (task, index)) not in reading:
                    found[number] += nbytes
        return found

    def best(self) -> tuple[TaskPlan, ...] | None:
        """The best plans of all tasks; None if resident values leave too little memory for one."""
        tasks, code = self.network.tasks, self.layout.code
        shapes = shapes_read(tasks)
        beam = [_Partial((), {}, NetworkRun(code, self.chip, self.works), 0.0)]
        for info in tasks:
            reached: dict[Hashable, _Partial] = {}
            for partial in beam:
                for plan in self._tilings(partial, shapes.get(info.result, set())):
                    after = self._after(partial, plan, code)
                    place = self._places(after)
                    if place not in reached or after.cost < reached[place].cost:
                        reached[place] = after
            if not reached:
                return None
            beam = sorted(reached.values(), key=lambda partial: partial.cost)[:BEAM]
        return beam[0].plans

    def _tilings(self, partial: _Partial, read_as: set[tuple[int, ...]]) -> list[TaskPlan]:
        """Tilings of the next task; its result stays in the cores if it does in the network's plan."""
        tasks, number = self.network.tasks, len(partial.plans)
        info, stays = tasks[number], self.network.plans[number].resident
        available = int(self.chip.sram_bytes * WORKING_SHARE)
        available -= sum(aligned(plan.tile_bytes) for plan in partial.held.values()) + self._kept_beside[number]
        before = self.network.plans[number]
        kept = {before.reads[index].read.operand for index in before.kept_reads()}
        sources = keep_operands([source_of(value, partial.held) for value in info.operands], kept)

        def accept(grid: tuple[int, ...]) -> bool:
            return not kept or grid == before.tiling.grid  # tasks that keep the same constants have the same tiling

        readable = readable_as(info, read_as) if stays else None
        request = TaskRequest(info, self.chip, sources, readable, self.place, accept, pricing=self.network.pricing)

        def search(budget: SramBudget) -> list[TaskPlan]:
            plans = task_plans(request, budget, TILINGS)
            return [] if isinstance(plans, Shortage) else [plan for plan in plans if plan.resident == stays]

        how = stays, frozenset(read_as), before.tiling.grid if kept else None, self.network.pricing
        return self.memo.several(info, sources, available, how, search)

    def _after(self, partial: _Partial, plan: TaskPlan, code: Code) -> _Partial:
        """The partial plan, continued with this plan of the next task."""
        number = len(partial.plans)
        info = self.network.tasks[number]
        work = work_beside(exact_work(info, plan), number not in code.apart, info, plan)
        run = partial.run.fork()
        run.advance(work)
        times = (work.computing, work.dram, work.network)
        missed = CONTENTION * (sum(times) - max(times)) + plan.price - plan.cycles
        held = {**partial.held, info.result: plan} if plan.resident else partial.held
        held = {value: one for value, one in held.items() if self.network.last_use[value] > number}
        return _Partial((*partial.plans, plan), held, run, partial.missed + missed)

    def _places(self, partial: _Partial) -> Hashable:
        """A key of the distributions of the values that later tasks read from the cores."""
        held = partial.held.items()
        return tuple((self._numbers[value], plan.tiling.over_cores, plan.tiling.cores) for value, plan in held)
