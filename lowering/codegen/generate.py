"""
Code generation: converts the schedule of a launch to one instruction stream per core.

All cores take part in transfers in the same order, that of the schedule, so there is no deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.coreasm.encoding import TypeCode
from ...dialects.dataflow.types import dtype_code
from ...dialects.manycore import Tiling
from ...support.errors import MeshloomError
from ..launch.launch_schedule import (
    Action,
    Compute,
    DramBuffer,
    Execute,
    Gather,
    LaunchSchedule,
    Load,
    Repeat,
    Store,
    TileBuffer,
    core_local,
    loads_of,
)
from .dram_synchronisation import DramSynchronisation
from .emitter import Operand
from .kernels import Tile, kernel_of, placed_dims
from .machine import Machine
from .operand_views import OperandViews
from .stream import CoreStream, EmittedEnding
from .task_reads import TaskReads
from .view import ITEM_BYTES, View

MAX_CACHED_GROUPS = 1 << 12
"""Largest number of cached instruction groups of a task, which are copied for equal steps and cores."""


def generate(schedule: LaunchSchedule, chip: Chip, front: int = 6) -> Machine:
    """
    Streams of all cores that have work, without synchronisation between the units of a core. Of loops, a few steps are
    emitted (see `_emitted_steps`).
    """
    cores = {core for task in schedule.tasks for core in task.tiling.cores}
    return _Generator(schedule, Machine(chip, cores), front).run()


class _Generator:
    def __init__(self, schedule: LaunchSchedule, machine: Machine, front: int) -> None:
        self._schedule, self._machine, self._front = schedule, machine, front
        self._passing = DramSynchronisation(schedule, machine)
        self._views = OperandViews(schedule)
        self._tasks = [self._code(number, schedule.loaded) for number in range(len(schedule.tasks))]

    def _code(self, number: int, loaded: Container[tuple[int, int]]) -> _TaskCode:
        """`loaded`: the reads that are loaded for their task, not reused from an earlier one."""
        return _TaskCode(number, self._schedule, self._views, self._machine, loaded)

    def run(self) -> Machine:
        for buffer in self._schedule.buffers:
            if isinstance(buffer, DramBuffer) and buffer.whole is not None:
                whole = self._schedule.buffers[buffer.whole]
                assert isinstance(whole, DramBuffer)
                for stream in self._machine.streams.values():
                    stream.merge_dram_accesses(whole.address, whole.address + whole.nbytes)
        for one in self._schedule.order:
            if isinstance(one, Repeat):
                self._repeat(one)
            else:
                self._issue(one)
        return self._machine

    def _issue(self, one: Load | Execute, in_loop: bool = False) -> None:
        self._machine.set_source(one.task)
        if isinstance(one, Load):
            self._transfer(one, None)
            return
        if not in_loop:
            self._passing.wait_write_after_read(one.task)
        self._execute(one)
        if not in_loop:
            self._passing.signal_read_after_write(one.task)

    def _repeat(self, repeat: Repeat) -> None:
        """Emit a few steps of a loop: enough for `roll_steps` to derive all others."""
        tasks = [one.task for one in repeat.body if isinstance(one, Execute)]
        for task in tasks:
            result = self._schedule.result_buffer(task)
            if isinstance(result, DramBuffer) and result.whole is None:
                name = self._schedule.tasks[task].info.name
                raise MeshloomError(
                    f"task '{name}' of a loop writes the same bytes of dram in every step: expected sram"
                )
            self._machine.set_source(task)
            self._passing.wait_write_after_read(task)
        loaded = loads_of(repeat.body)
        begin = {core: len(stream) for core, stream in self._machine.streams.items()}
        self._clear(repeat)
        groups = repeat.steps // repeat.group
        self._machine.begin_loop(groups)
        self._begin_dynamic_loop(repeat)
        numbers = list(range(groups))[:2] if repeat.has_dynamic_steps else _emitted_steps(repeat.steps, self._front)
        for number in numbers:
            self._machine.begin_step(number)
            for step in range(number * repeat.group, (number + 1) * repeat.group):
                self._views.step = step
                self._machine.reuse_semaphores()
                for task in tasks:
                    self._tasks[task] = self._code(task, loaded)
                for one in repeat.body:
                    self._issue(one, in_loop=True)
            self._end_step(repeat)
        self._views.step = 0
        ending = EmittedEnding(repeat.count is not None, repeat.must_end) if repeat.has_dynamic_steps else None
        self._machine.end_loop(ending)
        used = [self._schedule.tasks[task] for task in tasks]
        for number in {number for task in used for number in (*task.operands, task.result)}:
            self._merge_row_accesses(number, begin)
        for task in tasks:
            self._machine.set_source(task)
            self._passing.signal_read_after_write(task)

    def _begin_dynamic_loop(self, repeat: Repeat) -> None:
        """Before a dynamic loop: wait until all units are idle, and read the number of steps if it is known by then."""
        if not repeat.has_dynamic_steps:
            return
        address = None if repeat.count is None else self._number_at(repeat.count)
        for emitter in self._machine.emitters.values():
            if address is None:
                emitter.drain()
            else:
                emitter.read_number(address, TypeCode.I64)

    def _end_step(self, repeat: Repeat) -> None:
        """
        End a step of a dynamic loop with idle units, so that the synchronisation state after the loop does not depend
        on the number of steps.
        """
        if not repeat.has_dynamic_steps:
            return
        address = None if repeat.going is None else self._number_at(repeat.going)
        for emitter in self._machine.emitters.values():
            if address is None:
                emitter.drain()
            else:
                emitter.read_number(address, TypeCode.BOOL)
                emitter.leave()

    def _number_at(self, number: int) -> int:
        buffer = self._schedule.buffers[number]
        assert isinstance(buffer, TileBuffer)
        return buffer.address

    def _clear(self, repeat: Repeat) -> None:
        """Before a dynamic loop, write zeros to the values of which its steps write rows: not all steps may run."""
        for task in (one.task for one in repeat.body if isinstance(one, Execute) and repeat.has_dynamic_steps):
            self._machine.set_source(task)
            self._tasks[task].clear(repeat.steps)

    def _merge_row_accesses(self, number: int, begin: Mapping[int, int]) -> None:
        """
        Count each access to a row of a resident value, from instruction begin[core] on, as one to all rows: the
        synchronisation of steps is then equal.
        """
        buffer = self._schedule.buffers[number]
        if not isinstance(buffer, TileBuffer) or buffer.row is None:
            return
        task = self._schedule.tasks[buffer.task]
        for core, box in task.held(buffer)[0].boxes.items():
            if core in begin and box.volume:
                high = buffer.address + box.volume * ITEM_BYTES[task.result_dtype]
                self._machine.streams[core].merge_sram_accesses(buffer.address, high, begin[core])

    def _execute(self, execute: Execute) -> None:
        task = self._tasks[execute.task]
        self._emit(task, execute.begin, None)
        steps, last = core_local(execute.steps), task.tiling.step_count - 1
        for step in range(last):
            self._emit_groups(task, steps, step)
            task.reads.forget(step)
        self._emit(task, execute.last, last)
        task.reads.finish()

    def _emit(self, task: _TaskCode, actions: Sequence[Action], step: int | None) -> None:
        self._emit_groups(task, core_local(actions), step)

    def _emit_groups(self, task: _TaskCode, groups: Sequence[Sequence[Action]], step: int | None) -> None:
        for group in groups:
            first = group[0]
            if isinstance(first, Load | Gather):
                self._transfer(first, step)
            else:
                assert step is not None
                task.emit(group, step)

    def _transfer(self, action: Load | Gather, step: int | None) -> None:
        """Emit a transfer that belongs to this step of a task, or to no step."""
        task = self._tasks[action.task]
        self._machine.set_source(action.task)
        if action.step is None:
            task.reads.load_all(action.read, action.multicast_from)
            return
        at = action.step
        if action.relative:
            assert step is not None
            at += step
        if at >= task.tiling.step_count:
            return
        if isinstance(action, Load):
            task.reads.load(action.read, at, action.multicast_from)
        else:
            task.reads.gather(at)


class _TaskCode:
    """Code for the steps of one task."""

    def __init__(
        self,
        number: int,
        schedule: LaunchSchedule,
        views: OperandViews,
        machine: Machine,
        loaded: Container[tuple[int, int]],
    ) -> None:
        self.number, self.machine, self.views = number, machine, views
        self.task = task = schedule.tasks[number]
        self.info, self.tiling = task.info, task.tiling
        self.buffer = schedule.buffers[task.result]
        self.tiles = {core: box for core, box in task.tiling.tile_boxes(task.info.sizes).items() if box.volume}
        self.steps = {core: task.tiling.step_boxes(box) for core, box in self.tiles.items()}
        result_box = self.info.root.result_box
        self.held = {core: result_box(tile) for core, tile in self.tiles.items()}
        """Core -> its part of the result."""
        self.results = {core: [result_box(step) for step in steps] for core, steps in self.steps.items()}
        """Core -> the part of each step."""
        self.phases = _phases(task.info.reductions, task.tiling)
        self.reads = TaskReads(number, schedule, views, machine, self.steps, loaded)
        self.begun: dict[int, int] = {}
        """Core -> the newest step for which the sum of the addends has been emitted."""
        number_of: dict[SSAValue, int] = {op.results[0]: number for number, op in enumerate(self.info.body)}
        self._uses = [[number_of.get(value) for value in op.operands] for op in self.info.body]
        """By operation of the body, for each operand the operation that computes it; None: the task reads it."""
        immediates = self.info.immediates
        self._immediates = {
            (number, index): immediates[value]
            for number, op in enumerate(self.info.body)
            for index, value in enumerate(op.operands)
            if value in immediates
        }
        """(Operation of the body, operand index) -> the constant that the instruction holds."""
        self._dtypes = [dtype_code(op.results[0]) for op in self.info.body]
        self._kernels = [kernel_of(op) for op in self.info.body]
        self._placed = [placed_dims(op) for op in self.info.body]
        self._emitted: dict[Hashable, tuple[CoreStream, int, int]] = {}
        """Emitted instruction groups and their positions, by everything that they depend on."""

    def emit(self, actions: Sequence[Action], step: int) -> None:
        """Emit the core-local work of a step on each core."""
        self.machine.set_source(self.number)
        for core in self.tiles:
            if not self.steps[core][step].volume:
                continue
            for action in actions:
                if isinstance(action, Compute):
                    self._compute(core, step, step + 1 if action.pipelined else None)
                elif isinstance(action, Store):
                    self._store(core, step)

    def _compute(self, core: int, step: int, following: int | None) -> None:
        """
        Emit the root, then the rest of the body if the root is complete; the addends of the root are computed before.
        `following`: the next step if its operands have been fetched.
        """
        info, box, phase = self.info, self.steps[core][step], self.phases[step]
        result = self.results[core][step]
        addends = info.addends
        if addends and not phase.accumulate and self.begun.get(core) != step:
            self._sum_addends(core, step)
        emitter = self.machine.emitters[core]
        views: list[View] = []
        for number, (op, kernel) in enumerate(zip(info.body, self._kernels, strict=True)):
            if number and not phase.complete:
                break
            out = self._buffer(number, core, step)
            views.append(out)
            if 0 < number <= len(addends):
                continue
            if info.is_view(number):
                views[number] = self.reads.operand(number, 0, core, step)
                continue
            operands = [
                self._outside(number, index, core, step) if producer is None else views[producer]
                for index, producer in enumerate(self._uses[number])
            ]
            accumulate = number == 0 and (phase.accumulate or bool(addends))
            scratch = None if number else self.task.scratch
            turn = 0 if scratch is None else step
            tile = Tile(box if number == 0 else result, out, operands, accumulate, emitter, scratch, turn)
            position = tuple([tile.box.offsets[dim] for dim in self._placed[number]])
            like = number, tile.box.sizes, position, out, tuple(operands), accumulate, turn
            self._emit_once(core, like, partial(kernel, op, tile))
            if number == 0 and addends and following is not None and not self.phases[following].accumulate:
                # The sum for the next step is emitted before the rest of the body, which waits for this step's root on
                # the vector unit, so that the sum does not have to wait, too.
                if self._buffer(0, core, following).address != out.address:
                    self._sum_addends(core, following)

    def _outside(self, number: int, index: int, core: int, step: int) -> Operand:
        """Operand `index` of operation `number` of the body, which is not computed in the body."""
        immediate = self._immediates.get((number, index))
        return self.reads.operand(number, index, core, step) if immediate is None else immediate

    def _store(self, core: int, step: int) -> None:
        """Emit the stores to DRAM of the results that the step completes."""
        if self.phases[step].complete:
            result = self.results[core][step]
            target = self.views.result_in_dram(self.number).box(result.offsets, result.sizes)
            self.machine.emitters[core].store(target, self._buffer(len(self.info.body) - 1, core, step))

    def clear(self, steps: int) -> None:
        """Write zeros to a value of which each of `steps` steps computes one row or part, on all cores."""
        buffer = self.buffer
        for core, box in self.held.items():
            emitter = self.machine.emitters[core]
            if isinstance(buffer, TileBuffer):
                if buffer.row is not None:
                    emitter.fill(View.dense("sram", buffer.address, self._dtypes[-1], (steps * box.volume,)), 0)
            elif buffer.whole is not None:
                part = self.views.result_in_dram(self.number).box(box.offsets, box.sizes)
                zero = View.dense("sram", self.task.staging[0], part.dtype, (1,))
                emitter.fill(zero, 0)
                parts = part.walk((steps, *part.shape), (buffer.advance, *part.strides))
                emitter.store(parts.reverse(0) if buffer.advance < 0 else parts, zero)

    def _sum_addends(self, core: int, step: int) -> None:
        """Emit the sum of the addends, to which the root adds its products."""
        self.begun[core] = step
        if not self.steps[core][step].volume:
            return
        emitter, out = self.machine.emitters[core], self._buffer(0, core, step)
        addends = [self._outside(*use, core, step) for use in self.info.addends]

        def emit() -> None:
            first, *rest = addends
            if not rest:
                if isinstance(first, View):
                    emitter.unary("mov", out, first)
                else:
                    emitter.fill(out, first)
            for addend in rest:
                emitter.binary("add", out, first, addend)
                first = out

        self._emit_once(core, ("begin", out, tuple(addends)), emit)

    def _emit_once(self, core: int, like: Hashable, emit: Callable[[], object]) -> None:
        """Emit instructions on a core; if a group with the same key `like` was emitted on any core, copy that."""
        stream = self.machine.streams[core]
        found = self._emitted.get(like)
        if found is None:
            begin = len(stream)
            emit()
            if len(self._emitted) >= MAX_CACHED_GROUPS:
                self._emitted.clear()
            self._emitted[like] = stream, begin, len(stream)
        else:
            stream.repeat(*found)

    def _buffer(self, number: int, core: int, step: int) -> View:
        """The destination of operation `number` of the body."""
        info, task = self.info, self.task
        result = self.results[core][step]
        dtype = self._dtypes[number]
        buffer = info.buffers.of_op[number]
        if buffer != info.buffers.result:
            is_odd_root = buffer == info.buffers.of_op[0] and self.phases[step].version % 2
            offset = task.double_buffer_offset if is_odd_root else 0
            return View.dense("sram", task.temporaries[buffer] + offset, dtype, result.sizes)
        resident = self.buffer if isinstance(self.buffer, TileBuffer) else None
        if resident is None or (task.staging and number + 1 < len(info.body)):
            slot = self.phases[step].version % len(task.staging)
            return View.dense("sram", task.staging[slot], dtype, result.sizes)
        whole = self.held[core]
        row = self.views.result_row(self.number) or 0
        held = View.dense("sram", resident.address + row * whole.volume * ITEM_BYTES[dtype], dtype, whole.sizes)
        start = tuple(offset - low for offset, low in zip(result.offsets, whole.offsets, strict=True))
        return held.box(start, result.sizes)


@dataclass(frozen=True)
class _Phase:
    """The effect of a step on its part of the result."""

    accumulate: bool
    """An earlier step has written a partial sum."""
    complete: bool
    """No later step adds to it."""
    version: int
    """Number of the tile of the result."""


def _phases(reductions: Sequence[int], tiling: Tiling) -> list[_Phase]:
    phases: list[_Phase] = []
    last: tuple[int, ...] | None = None
    version = -1
    for index in tiling.step_indices():
        output = tuple(value for dim, value in enumerate(index) if dim not in reductions)
        version += output != last
        last = output
        accumulate = any(index[dim] for dim in reductions)
        complete = all(index[dim] == tiling.steps[dim] - 1 for dim in reductions)
        phases.append(_Phase(accumulate, complete, version))
    return phases


def _emitted_steps(steps: int, front: int) -> list[int]:
    """
    Numbers of the steps of a loop that are emitted: the first ones, of which one, after at most `front` others, becomes
    the body, and the last; all steps if there are few.
    """
    return list(range(steps)) if steps <= front + 3 else [*range(front + 2), steps - 1]
