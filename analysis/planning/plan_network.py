"""
Plan a network of tasks: a tiling for each, and which values stay in the cores between the task that computes them and
those that read them. What does not fit goes to DRAM: the largest value that is in the way first, until all tasks fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.types import shape_of
from ...dialects.manycore import TaskOp
from ...support.errors import MeshloomError
from ..task_info import TaskInfo
from .plan_task import PlaceTiles, Shortage, Source, TaskPlan, aligned, plan_task
from .storage import Distribution

RESIDENT_SHARE = 0.6
"""Of SRAM: values that stay in the cores take at most this much, the rest is for the task at work."""
WORKING_SHARE = 0.9
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

    @property
    def resident(self) -> dict[SSAValue, int]:
        """Values that stay in the cores -> number of the task that computes them."""
        return {info.result: number for number, info in enumerate(self.tasks) if self.plans[number].resident}


def plan_network(function: FuncOp, chip: Chip, place: PlaceTiles) -> NetworkPlan:
    """
    Plan all tasks of a function.

    Raises MeshloomError naming task, core, bytes needed and bytes there if a task does not fit even alone.
    """
    tasks = tuple(TaskInfo.of(op) for op in function.body.block.ops if isinstance(op, TaskOp))
    last_use: dict[SSAValue, int] = {}
    for number, info in enumerate(tasks):
        for value in info.operands:
            last_use[storage_root(value)] = number
    in_dram = _must_be_in_dram(function, tasks)
    numbers = {info.result: number for number, info in enumerate(tasks)}
    shapes = _shapes_read(tasks)
    plans: list[TaskPlan] = []
    while len(plans) < len(tasks):
        number = len(plans)
        info = tasks[number]
        resident = {
            tasks[earlier].result: plan
            for earlier, plan in enumerate(plans)
            if plan.resident and last_use[tasks[earlier].result] >= number
        }
        stays = info.result not in in_dram and info.result in last_use
        plan = _plan_next(info, chip, place, tasks, numbers, resident, stays, shapes.get(info.result, set()))
        if isinstance(plan, TaskPlan):
            plans.append(plan)
        elif resident:
            victim = max(resident, key=lambda value: (resident[value].tile_bytes, -numbers[value]))
            in_dram.add(victim)
            del plans[numbers[victim] :]
        else:
            raise MeshloomError(
                f"task '{info.name}' does not fit: its smallest tile needs {plan.needed} bytes of SRAM on core "
                f"{chip.usable_cores[0]}, where {plan.available} of {chip.sram_bytes} may be used; choose a chip with "
                f"more SRAM per core"
            )
    return NetworkPlan(tasks, tuple(plans), last_use)


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


def _shapes_read(tasks: tuple[TaskInfo, ...]) -> dict[SSAValue, set[tuple[int, ...]]]:
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
    tasks: tuple[TaskInfo, ...],
    numbers: dict[SSAValue, int],
    resident: dict[SSAValue, TaskPlan],
    stays: bool,
    shapes: set[tuple[int, ...]],
) -> TaskPlan | Shortage:
    """Plan a task beside what is resident; its result goes to DRAM where it must not or cannot stay."""
    held = sum(aligned(plan.tile_bytes) for plan in resident.values())
    sources = [_source(value, resident, tasks, numbers) for value in info.operands]
    available = int(chip.sram_bytes * WORKING_SHARE) - held
    if stays:

        def readable(distribution: Distribution) -> bool:
            return all(distribution.reshaped(shape_of(info.result), shape) is not None for shape in shapes)

        plan = plan_task(info, chip, sources, available, readable, place)
        if isinstance(plan, TaskPlan) and (
            not plan.resident or held + aligned(plan.tile_bytes) <= chip.sram_bytes * RESIDENT_SHARE
        ):
            return plan
    return plan_task(info, chip, sources, available, None, place)


def _source(
    value: SSAValue, resident: dict[SSAValue, TaskPlan], tasks: tuple[TaskInfo, ...], numbers: dict[SSAValue, int]
) -> Source:
    root = storage_root(value)
    if root not in resident:
        return Source(None, isinstance(root.owner, ConstantOp | WeightOp))
    distribution = resident[root].distribution(tasks[numbers[root]])
    return Source(distribution.reshaped(shape_of(root), shape_of(value)), False)
