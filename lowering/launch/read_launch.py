"""The schedule that the operations of a launch specify: those that `write_launch` wrote, or a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...analysis.allocation.memory_reuse import reuse_dependences
from ...analysis.planning.reads import ReadKind, ReadPlan, plan_read
from ...analysis.planning.storage import Distribution
from ...analysis.tasks.slices import Tiles
from ...analysis.tasks.task_info import TaskInfo
from ...chips import Chip
from ...dialects.dataflow.types import shape_of
from ...dialects.locations import at, located
from ...dialects.manycore import ComputeOp, ExecuteOp, LaunchOp, RepeatOp, Tiling
from ...dialects.manycore.repeat import TileRow, part_whole, tile_row
from ...dialects.memory import AllocOp, BufferType, FreeOp, GatherOp, GlobalOp, LoadOp, Space, StoreOp
from ...dialects.memory.ops import buffer_of
from ...support.errors import InputError
from .dram_segments import SEGMENT_BITS, padded
from .launch_schedule import (
    Action,
    Buffer,
    Compute,
    DramBuffer,
    Execute,
    Gather,
    Issued,
    LaunchSchedule,
    Load,
    Repeat,
    ScheduledRead,
    ScheduledTask,
    StepRow,
    Store,
    TileBuffer,
    double_buffer_offset,
)


@dataclass(frozen=True)
class PlacedSchedule:
    """A schedule with DRAM addresses relative to segments, and the addresses of these."""

    schedule: LaunchSchedule
    segments: tuple[int, ...]
    """DRAM address of each segment: values that enter or leave the launch, and last the values internal to it."""


def read_launch(launch: LaunchOp, chip: Chip) -> PlacedSchedule:
    """The schedule of a verified launch. Raises InputError naming the task that has no valid schedule."""
    with at(launch):
        return _Reader(launch, chip).read()


class _Reader:
    def __init__(self, launch: LaunchOp, chip: Chip) -> None:
        self.launch, self.chip = launch, chip
        self.block: Block = launch.body.block
        self.executes = list(launch.tasks.values())
        self.number_of = {op.sym_name.data: number for number, op in enumerate(self.executes)}
        self.writer: dict[SSAValue, int] = {}
        """Buffer -> the task that writes it."""
        for number, op in enumerate(self.executes):
            if op.target in self.writer:
                if isinstance(op.parent_op(), RepeatOp) and buffer_of(op.target).space is Space.SRAM:
                    continue  # for the next step, in the same tiles
                raise InputError(f"task @{op.sym_name.data} writes a buffer that another task of the launch writes")
            self.writer[op.target] = self.writer[part_whole(op.target)] = number
        self.numbers: dict[SSAValue, int] = {}
        self.buffers: list[Buffer] = []
        self.tasks: list[ScheduledTask] = []

    def read(self) -> PlacedSchedule:
        for number, op in enumerate(self.executes):
            with at(op):
                self.tasks.append(self._task(number, op))
        order = [one for op in self.block.ops for one in self._issued(op)]
        schedule = LaunchSchedule(tuple(self.buffers), tuple(self.tasks), tuple(order))
        base = min(self.scratch.values(), default=0)
        outside = [buffer_of(value).offset or 0 for value in self.outside]
        return PlacedSchedule(schedule, (*outside, base))

    # ---- buffers

    @cached_property
    def scratch(self) -> dict[SSAValue, int]:
        """Buffers in DRAM that are internal to the launch -> their addresses."""
        allocs = [op for op in self.block.ops if isinstance(op, AllocOp)]
        return {op.buffer: address_of(op.buffer) for op in allocs if buffer_of(op.buffer).space is Space.DRAM}

    @cached_property
    def outside(self) -> list[SSAValue]:
        """Buffers in DRAM that enter or leave the launch: constants first, otherwise in the order of definition."""
        used = {part_whole(value) for op in self.executes for value in (*op.inputs, op.target)}
        around = self.launch.parent_block()
        assert around is not None
        defined = [*around.args, *(result for op in around.ops for result in op.results)]
        entering = [
            value
            for value in defined
            if value in used and isinstance(value.type, BufferType) and value.type.space is Space.DRAM
        ]
        return sorted(entering, key=lambda value: not isinstance(value.owner, GlobalOp))

    @cached_property
    def previous(self) -> dict[SSAValue, tuple[SSAValue, ...]]:
        """Buffer in `scratch` -> the buffers that had its bytes before it (see `DramBuffer.previous`)."""
        values = [value for value in self.scratch if value in self.writer]
        values.sort(key=self.writer.__getitem__)
        sizes = [padded(buffer_of(value).nbytes) for value in values]
        occupants = reuse_dependences(sizes, [self.scratch[value] for value in values])
        return {value: tuple(values[one] for one in others) for value, others in zip(values, occupants, strict=True)}

    def _buffer(self, value: SSAValue) -> int:
        """The number of a buffer in the schedule; a new one if it has none yet."""
        if value not in self.numbers:
            type = buffer_of(value)
            if type.space is Space.SRAM:
                whole = part_whole(value)
                if whole not in self.writer:
                    raise InputError(f"a task reads {type} as a whole, which no task of the launch writes")
                row = tile_row(value)
                step_row = None if row is None else StepRow(row.rows, row.first, row.advance)
                written = tile_row(self.executes[self.writer[whole]].target)
                stacked = None if written is None else written.rows
                made: Buffer = TileBuffer(address_of(whole), self.writer[whole], step_row, stacked)
            elif (whole := part_whole(value)) is not value:
                assert isinstance(value, BlockArgument)
                loop = value.block.parent_op()
                assert isinstance(loop, RepeatOp)
                _, start, advance = loop.part(value)
                number = self._buffer(whole)
                address = self._in_segment(whole) + start
                made = DramBuffer(address, type.nbytes, self.writer.get(value), (), number, advance)
            else:
                previous = tuple(self._buffer(one) for one in self.previous.get(value, ()))
                made = DramBuffer(self._in_segment(value), type.nbytes, self.writer.get(value), previous)
            self.numbers[value] = len(self.buffers)
            self.buffers.append(made)
        return self.numbers[value]

    def _in_segment(self, value: SSAValue) -> int:
        """The address of a buffer in DRAM, relative to its segment (see `DramBuffer.address`)."""
        if value in self.scratch:
            offset = self.scratch[value] - min(self.scratch.values())
            return (len(self.outside) << SEGMENT_BITS) + offset
        return self.outside.index(value) << SEGMENT_BITS

    # ---- tasks

    def _task(self, number: int, op: ExecuteOp) -> ScheduledTask:
        info, tiling = TaskInfo.of(op), op.tiling.data
        for value in op.inputs:
            if self.writer.get(value, -1) >= number or self.writer.get(part_whole(value), -1) >= number:
                writer = self.executes[self.writer[value]].sym_name.data
                raise InputError(f"task @{info.name} reads the result of @{writer}, which comes after it")
        reads = tuple(self._read(op, info, index) for index in range(len(info.reads)))
        temporaries = {position: address_of(value) for position, value in enumerate(op.temporaries, 1)}
        root = info.double_buffered_root
        root_bytes = 0 if root is None else buffer_of(op.temporaries[root - 1]).nbytes
        return ScheduledTask(
            info, tiling, tuple(map(self._buffer, op.inputs)), self._buffer(op.target), reads,
            tuple(map(address_of, op.staging)),
            temporaries, double_buffer_offset(info, tiling, root_bytes),
            temporaries.get(info.scratch_buffer) if info.needs_scratch else None,
        )  # fmt: skip

    def _read(self, op: ExecuteOp, info: TaskInfo, index: int) -> ScheduledRead:
        read = info.reads[index]
        value = op.inputs[read.operand]
        source = None
        if buffer_of(value).space is Space.SRAM:
            buffer = self.buffers[self._buffer(value)]
            assert isinstance(buffer, TileBuffer)
            source = self.tasks[buffer.task], buffer
        slots = tuple(map(address_of, op.read_buffers(index)))
        # A part of a constant that differs from step to step is not a constant here.
        constant = isinstance(value.owner, GlobalOp)
        planner = _ReadPlanner(self.chip, info, op.tiling.data, index, slots, source, constant, tile_row(value))
        return ScheduledRead(read, slots, planner.plan)

    # ---- order

    def _issued(self, op: Operation) -> list[Issued]:
        """The action of an operation of the launch."""
        if isinstance(op, RepeatOp):
            body = tuple(one for inner in op.body.block.ops for one in self._top(inner))
            count, going = (self._number(op, buffer) for buffer in (op.count, op.going))
            return [Repeat(op.step_count, body, count, going, op.must_end is not None, op.group_size)]
        return [*self._top(op)]

    def _number(self, op: RepeatOp, buffer: SSAValue | None) -> int | None:
        """The number of a buffer in which every core of the launch has the number of steps of a loop."""
        if buffer is None:
            return None
        number = self._buffer(buffer)
        made = self.buffers[number]
        assert isinstance(made, TileBuffer)
        tiling = self.tasks[made.task].tiling
        cores = {core for task in self.tasks for core in task.tiling.cores}
        if not cores <= set(tiling.cores) or tiling.grid != (len(tiling.cores),):
            name = self.executes[made.task].sym_name.data
            error = InputError(f"task @{name} does not give every core of the launch the number of steps of a loop")
            raise located(error, op)
        return number

    def _top(self, op: Operation) -> list[Load | Execute]:
        """The action of an operation directly in the launch."""
        match op:
            case LoadOp():
                return [self._load(op)]
            case ExecuteOp():
                number = self.number_of[op.sym_name.data]
                parts = (tuple(map(self._action, part.block.ops)) for part in (op.begin, op.steps, op.last))
                return [Execute(number, *parts)]
            case AllocOp() | FreeOp():
                return []
            case _:
                raise InputError(f"'{op.name}' in a launch: expected buffers, loads and tasks over buffers")

    def _action(self, op: Operation) -> Action:
        match op:
            case LoadOp():
                return self._load(op)
            case GatherOp():
                return Gather(self.number_of[op.task_name], op.step_number or 0, op.is_relative)
            case ComputeOp():
                return Compute(self._owner(op), op.pipelined is not None)
            case StoreOp():
                return Store(self._owner(op))
            case _:
                raise InputError(f"'{op.name}' in the schedule of a task: expected transfers and manycore.compute")

    def _load(self, op: LoadOp) -> Load:
        return Load(self.number_of[op.task_name], op.read, op.step_number, op.is_relative, op.multicast_from)

    def _owner(self, op: Operation) -> int:
        task = op.parent_op()
        assert isinstance(task, ExecuteOp)
        return self.number_of[task.sym_name.data]


@dataclass(frozen=True)
class _ReadPlanner:
    """Derives the slices of a read, when they are needed."""

    chip: Chip
    info: TaskInfo
    tiling: Tiling
    index: int
    """Number of the read."""
    slots: Sequence[int]
    """Addresses of its buffers."""
    source: tuple[ScheduledTask, TileBuffer] | None
    """The task whose tiles hold the operand, and their buffer; None if it is in DRAM."""
    constant: bool
    row: TileRow | None
    """The row of the operand that each step of a loop reads."""

    def plan(self) -> ReadPlan:
        """The slices of the read. Raises InputError if the operand or the buffers do not allow it."""
        info, row, slots = self.info, self.row, self.slots
        tiles = Tiles.of(self.tiling, info.sizes)
        plan = plan_read(info, self.chip, tiles, info.reads[self.index], self._held(), self.constant)
        if row is not None and (plan.kind is not ReadKind.DIRECT or slots):
            raise InputError(
                f"task @{info.name} reads rows of {row.whole.type} that are on other cores: give it a buffer in dram"
            )
        if plan.kind is ReadKind.DIRECT and slots:
            gathered = int(plan.whole.gathered.prod(axis=1).max(initial=0)) * plan.item_bytes
            return replace(plan, kind=ReadKind.GATHER, gathered=gathered)
        streamed = plan.kind is ReadKind.STREAM and (
            plan.whole.is_padded or (plan.whole.extents[:, :, 1] > 0).all(1).any()
        )
        if not slots and (streamed or plan.gathered):
            name, index = info.name, self.index
            raise InputError(f"task @{name} has no buffer for read {index}: give it one in 'reads' and 'slots'")
        return plan

    def _held(self) -> Distribution | None:
        """The distribution of the operand over the cores, in the shape in which it is read; None if it is in DRAM."""
        if self.source is None:
            return None
        info, row = self.info, self.row
        shape = shape_of(info.arguments[info.reads[self.index].operand])
        writer, buffer = self.source
        spread, whole = writer.held(buffer)
        held = spread.reshaped(whole, shape) if row is None else spread.row(whole, row.rows, shape)
        if held is None:
            raise InputError(
                f"task @{info.name} reads the result of @{writer.info.name} in a shape in which its tiles are not "
                "contiguous: give that result a buffer in dram"
            )
        return held


def address_of(value: SSAValue) -> int:
    """The address of a buffer. Raises InputError if it has none."""
    type = buffer_of(value)
    if type.offset is None:
        raise located(InputError(f"{type} has no address: run manycore-to-memory, or give one"), value)
    return type.offset
