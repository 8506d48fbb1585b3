"""
Code generation: planned tasks become one instruction stream per core.

All cores take part in transfers in the same order, the order of this module's loops: that is why none can wait in a
circle. Loads of a step are emitted before the computation of the step before it, so that they overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, SSAValue

from ..analysis.planning.plan_network import NetworkPlan
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.task_info import TaskInfo
from ..chips import Chip
from ..dialects.dataflow.types import dtype_code
from .kernels import select_tile
from .machine import Machine
from .passing_values import PassingValues
from .places import Places
from .task_reads import TaskReads
from .view import View


def generate(network: NetworkPlan, places: Places, chip: Chip) -> Machine:
    """Streams of all cores that have work, without synchronisation between the units of a core."""
    cores = {core for plan in network.plans for core in plan.tiling.cores}
    machine = Machine(chip, cores)
    passing = PassingValues(network, places, machine)
    coded = [_CodedTask(number, places, machine) for number in range(len(network.tasks))]
    for number, task in enumerate(coded):
        machine.set_source(number)
        if number not in places.sram.ahead and not task.values_first:
            task.reads.fetch_first_constants()
        passing.take_room(number)
        task.emit([coded[later] for later, start in places.sram.ahead.items() if start == number])
        passing.announce(number)
    return machine


class _CodedTask:
    def __init__(self, number: int, places: Places, machine: Machine) -> None:
        self.number = number
        self.places = places
        self.machine = machine
        self.info: TaskInfo = places.network.tasks[number]
        self.plan: TaskPlan = places.network.plans[number]
        tiling = self.plan.tiling
        self.tiles = {core: box for core, box in tiling.tile_boxes(self.info.sizes).items() if box.volume}
        self.steps = {core: tiling.step_boxes(box) for core, box in self.tiles.items()}
        result_box = self.info.root.result_box
        self.held = {core: result_box(tile) for core, tile in self.tiles.items()}
        """Core -> its part of the result."""
        self.results = {core: [result_box(step) for step in steps] for core, steps in self.steps.items()}
        """Core -> the part of each step."""
        self.phases = _phases(self.info, self.plan)
        self.reads = TaskReads(number, places, machine, self.steps)
        self.begun: dict[int, int] = {}
        """Core -> the newest step for which the sum of the addends has been emitted."""

    @property
    def values_first(self) -> bool:
        """
        Whether other values come from DRAM before constants: of the first task, which waits for both, where they are
        fewer. What cores pass on to each other is then on its way while they load the rest.
        """
        first = [0.0, 0.0]
        for read, size in zip(self.plan.reads, self.plan.sizes, strict=True):
            first[read.constant] += size.dram_bytes / size.versions
        return not self.number and first[False] < first[True]

    def emit(self, later: Sequence[_CodedTask]) -> None:
        """
        All code of the task; its first constants are loaded already, unless values go first, and those of `later` tasks
        are on the way.
        """
        reads, count = self.reads, self.plan.tiling.step_count
        reads.gather()
        reads.fetch(0, constants=False)
        if self.values_first:
            reads.fetch_first_constants()
        overlap = not reads.single_buffered()
        for step in range(count):
            if step + 1 < count and overlap:
                reads.fetch(step + 1, constants=False)
                reads.fetch_later_constants(step)
            elif step + 1 == count:
                for task in later:
                    self.machine.set_source(task.number)
                    task.reads.fetch_first_constants()
                self.machine.set_source(self.number)
            self._compute(step, step + 1 if step + 1 < count and overlap else None)
            if step + 1 < count and not overlap:
                reads.fetch(step + 1, constants=False)
                reads.fetch(step + 1, constants=True)
            reads.forget(step)
        reads.finish()

    def _compute(self, step: int, following: int | None) -> None:
        """Emit a step; `following` is the next one if what it reads has been fetched."""
        for core in self.tiles:
            if self.steps[core][step].volume:
                self._compute_on(core, step, following)

    def _compute_on(self, core: int, step: int, following: int | None) -> None:
        """The root, then the rest of the body where it is complete; what the root adds to is there before."""
        info, box, phase = self.info, self.steps[core][step], self.phases[step]
        result = self.results[core][step]
        addends = info.addends
        if addends and not phase.accumulate and self.begun.get(core) != step:
            self._begin(core, step)
        views: dict[SSAValue, View] = {}
        for number, op in enumerate(info.body):
            if number and not phase.complete:
                break
            out = self._buffer(number, core, step)
            views[op.results[0]] = out
            if 0 < number <= len(addends):
                continue
            operands = [
                self.reads.operand(number, index, core, step) if isinstance(value, BlockArgument) else views[value]
                for index, value in enumerate(op.operands)
            ]
            accumulate = number == 0 and (phase.accumulate or bool(addends))
            select_tile(op, box if number == 0 else result, out, operands, accumulate, self.machine.emitters[core])
            if number == 0 and addends and following is not None and not self.phases[following].accumulate:
                # Before the vector unit waits for this step's root, so that the next one's need not wait for it.
                if self._buffer(0, core, following).address != out.address:
                    self._begin(core, following)
        if phase.complete and not self.plan.resident:
            target = self.places.in_dram(info.result).box(result.offsets, result.sizes)
            self.machine.emitters[core].store(target, views[info.body[-1].results[0]])

    def _begin(self, core: int, step: int) -> None:
        """The sum of the addends, to which the root adds its products."""
        self.begun[core] = step
        if not self.steps[core][step].volume:
            return
        emitter, out = self.machine.emitters[core], self._buffer(0, core, step)
        first, *rest = [self.reads.operand(*use, core, step) for use in self.info.addends]
        if not rest:
            emitter.unary("mov", out, first)
        for addend in rest:
            emitter.binary("add", out, first, addend)
            first = out

    def _buffer(self, number: int, core: int, step: int) -> View:
        """Where operation `number` of the body writes."""
        info, plan, addresses = self.info, self.plan, self.places.sram.addresses
        result = self.results[core][step]
        dtype = dtype_code(info.body[number].results[0])
        buffer = info.buffers.of_op[number]
        if buffer != info.buffers.result:
            return View.dense("sram", addresses["temporary", self.number, buffer, 0], dtype, result.sizes)
        apart = self.number in self.places.sram.apart and number + 1 < len(info.body)
        if apart or not plan.resident:
            slot = self.phases[step].version % (plan.slots if apart else plan.staging_slots(info))
            return View.dense("sram", addresses["staging", self.number, 0, slot], dtype, result.sizes)
        whole = self.held[core]
        held = View.dense("sram", self.places.sram.tile(self.number), dtype, whole.sizes)
        start = tuple(offset - low for offset, low in zip(result.offsets, whole.offsets, strict=True))
        return held.box(start, result.sizes)


@dataclass(frozen=True)
class _Phase:
    """What a step does to its part of the result."""

    accumulate: bool
    """An earlier step has begun it."""
    complete: bool
    """No later step goes on with it."""
    version: int
    """Number of the part."""


def _phases(info: TaskInfo, plan: TaskPlan) -> list[_Phase]:
    phases: list[_Phase] = []
    last: tuple[int, ...] | None = None
    version = -1
    for index in plan.tiling.step_indices():
        output = tuple(value for dim, value in enumerate(index) if dim not in info.reductions)
        version += output != last
        last = output
        accumulate = any(index[dim] for dim in info.reductions)
        complete = all(index[dim] == plan.tiling.steps[dim] - 1 for dim in info.reductions)
        phases.append(_Phase(accumulate, complete, version))
    return phases
