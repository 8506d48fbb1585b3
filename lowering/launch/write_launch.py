"""The schedule of a launch as operations: `manycore.launch` with buffers, tasks over buffers and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...analysis.planning.loops import LoopSpan, Part, held_as, memory_root, part_of, written_part
from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.reads import ReadKind
from ...analysis.planning.sram_layout import Key, SramBuffer, SramLayout
from ...analysis.planning.task_plan import TaskPlan
from ...analysis.tasks.task_info import TaskInfo
from ...dialects.dataflow.entry_function import main_function
from ...dialects.dataflow.types import element_bytes, element_of, shape_of, ui8
from ...dialects.locations import at
from ...dialects.manycore import ComputeOp, ExecuteOp, LaunchOp, RepeatOp, Scratch
from ...dialects.manycore.repeat import RepeatEnding
from ...dialects.memory import AllocOp, BufferType, FreeOp, GatherOp, LoadOp, Space, StoreOp
from ...dialects.memory.ops import buffer_of
from ..ir.launch_names import name_buffers, unique_names
from .dram_segments import SEGMENT_BITS, DramSegments, bytes_of
from .launch_schedule import Action, Compute, Execute, Gather, LaunchSchedule, Load, Repeat, Store

FIGURES = "manycore.figures"
"""
Attribute of tasks over buffers, for reports: the estimated cycles by which they lengthen the run, the bytes of SRAM
that they need on the busiest core, and the bytes of the constants that they read.
"""
CYCLES, WORKING, CONSTANTS = "cycles", "working_bytes", "constant_bytes"


def launch_function(
    network: NetworkPlan, dram: DramSegments, sram: SramLayout, schedule: LaunchSchedule, cycles: Sequence[int]
) -> FuncOp:
    """
    A function with the launch of a scheduled network, on buffers in DRAM that have no addresses yet: those of
    constants, arguments and results, in the order of `dram.sizes`. Values internal to the launch have addresses from 0
    on. `cycles`: the cycles by which each task is expected to lengthen the run.
    """
    outside = [value for value in dram.addresses if value not in dram.lives]
    types = [BufferType(shape_of(value), element_of(value), Space.DRAM) for value in outside]
    block = Block(arg_types=types)
    buffers: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    block.add_op(_Writer(network, dram, sram, schedule, cycles, buffers).write("main"))
    return main_function(block, [])


@dataclass
class _Writer:
    network: NetworkPlan
    dram: DramSegments
    sram: SramLayout
    schedule: LaunchSchedule
    cycles: Sequence[int]
    buffers: dict[SSAValue, SSAValue]
    """Storage root -> the buffer that holds it."""

    def __post_init__(self) -> None:
        self.names = unique_names([info.name for info in self.network.tasks])
        self.allocated: dict[Key, AllocOp] = {}
        self.ops: list[Operation] = []
        self._before_loops: dict[int, list[Load]] = {}
        """First task of a loop -> the loads before it."""
        self.keys: list[list[Key]] = [[] for _ in self.network.tasks]
        for key in self.sram.addresses:
            self.keys[key[1]].append(key)
        self.found: dict[Key, Key] = {}
        """The buffers of reads whose constants an earlier task has loaded."""
        for read, first in self.network.kept.items():
            key: Key = ("read", *first, 0)
            if read != first and key in self.sram.addresses:
                self.found["read", *read, 0] = key
                self.keys[read[0]].append(("read", *read, 0))

    def write(self, name: str) -> LaunchOp:
        begins: dict[int, list[Key]] = {}
        ends: dict[int, list[Key]] = {}
        for key, placed in self.placed.items():
            begins.setdefault(placed.first, []).append(key)
            ends.setdefault(placed.last, []).append(key)
        last_read: dict[int, list[SSAValue]] = {}
        for value, (_, last) in self.dram.lives.items():
            last_read.setdefault(last, []).append(value)
        repeat: Block | None = None
        by_task = self._by_task
        for number, info in enumerate(self.network.tasks):
            span = self.network.loop_of.get(number)
            with at(info.op):
                self._allocate(number, begins.get(number, ()))
                if span is not None and number == span.first:
                    self.ops += map(self._load, self._before_loops[number])
                    repeat = self._begin_loop(span)
                issued = [self._load(one) if isinstance(one, Load) else self._execute(one) for one in by_task[number]]
                if span is None:
                    self.ops += issued
                else:
                    assert repeat is not None
                    repeat.add_ops(issued)
                    if number == span.last:
                        self.ops.append(self._end_loop(span, repeat))
                self.ops += [FreeOp(self.allocated[key]) for key in ends.get(number, ())]
                self.ops += [FreeOp(self.buffers[value]) for value in last_read.get(number, ())]
        return LaunchOp(name, self.ops)

    @cached_property
    def _by_task(self) -> list[list[Load | Execute]]:
        """Each task, with the loads between it and the previous task, or the beginning of its loop."""
        found: list[list[Load | Execute]] = [[]]
        for one in self.schedule.order:
            if isinstance(one, Repeat):
                self._before_loops[len(found) - 1] = [load for load in found[-1] if isinstance(load, Load)]
                found[-1] = []
            for issued in one.body if isinstance(one, Repeat) else (one,):
                found[-1].append(issued)
                if isinstance(issued, Execute):
                    found.append([])
        return found[:-1]

    def _step_values(self, span: LoopSpan) -> list[tuple[SSAValue, Part, int]]:
        """
        The values that are a different part of a whole in each step of a loop: (value, part, bytes of a row of the
        largest tile if the whole is in SRAM, else 0).
        """
        loop = span.op
        values = [*loop.scanned_arguments, *loop.yielded[len(loop.initial) :]]
        found = [(value, part) for value in values if (part := part_of(value)) is not None]
        wholes = [buffer_of(self.buffers[part.whole]) for _, part in found]
        return [
            (value, part, one.nbytes // part.rows if one.space is Space.SRAM else 0)
            for one, (value, part) in zip(wholes, found, strict=True)
        ]

    def _begin_loop(self, span: LoopSpan) -> Block:
        """The empty body of a loop. From here on, `buffers` maps the values of a step to its arguments."""
        parts = self._step_values(span)
        types = [
            _row_type(buffer_of(self.buffers[part.whole]), part.rows)
            if row
            else BufferType(shape_of(value), element_of(value), Space.DRAM)
            for value, part, row in parts
        ]
        block = Block(arg_types=types)
        for (value, _, _), argument in zip(parts, block.args, strict=True):
            self.buffers[value] = argument
        return block

    def _end_loop(self, span: LoopSpan, body: Block) -> RepeatOp:
        """The loop operation."""
        parts, loop = self._step_values(span), span.op
        count, going = (
            None if value is None else self.buffers[memory_root(value)] for value in (loop.count, loop.going)
        )
        return RepeatOp(
            span.steps,
            [self.buffers[part.whole] for _, part, _ in parts],
            [part.first_row * row if row else part.start for _, part, row in parts],
            [part.next_row * row if row else part.advance for _, part, row in parts],
            Region(body),
            RepeatEnding(count, going, loop.ending.must_end, loop.ending.group),
        )

    @cached_property
    def placed(self) -> dict[Key, SramBuffer]:
        """Address and lifetime of each buffer."""
        return dict(zip(self.sram.addresses, self.sram.buffers, strict=True))

    def _allocate(self, number: int, keys: Sequence[Key]) -> None:
        """Allocate the buffers whose lifetime begins at a task."""
        value = memory_root(self.network.tasks[number].result)
        span = self.network.loop_of.get(number)
        for one in (value, *(span.op.stacked if span is not None and number == span.first else ())):
            if one in self.dram.lives:
                offset = self.dram.addresses[one] & (1 << SEGMENT_BITS) - 1
                type = BufferType(shape_of(one), element_of(one), Space.DRAM, offset)
                alloc = AllocOp(type, self.dram.lives[one])
                self.ops.append(alloc)
                self.buffers[one] = alloc.buffer
        if part_of(value) is None and value not in self.buffers and ("tile", number, 0, 0) not in self.sram.addresses:
            # The SRAM layout has no buffers without elements.
            empty = AllocOp(BufferType(shape_of(value), element_of(value), Space.SRAM, 0))
            self.ops.append(empty)
            self.buffers[value] = empty.buffer
        for key in keys:
            alloc = self.allocated[key] = self._alloc(key)
            self.ops.append(alloc)
            if key[0] == "tile":
                self.buffers[held_as(self.network.tasks[key[1]].result)] = alloc.buffer

    def _alloc(self, key: Key) -> AllocOp:
        role, number, index, _ = key
        info, plan = self.network.tasks[number], self.network.plans[number]
        shape, element = _shape_of_buffer(role, index, info, plan)
        placed = self.placed[key]
        return AllocOp(BufferType(shape, element, Space.SRAM, placed.address), (placed.first, placed.last))

    def _buffers_of(self, number: int, role: str, index: int | None = None) -> list[SSAValue]:
        """The buffers of a task in this role (of this read, if `index` is given), as far as they are allocated."""
        keys = [key for key in self.keys[number] if key[0] == role and (index is None or key[2] == index)]
        keys_read = (self.found.get(key, key) for key in sorted(keys))
        return [self.allocated[key].buffer for key in keys_read if key in self.allocated]

    def _source(self, number: int, read: int) -> SSAValue:
        operand = self.network.plans[number].reads[read].read.operand
        return self.buffers[memory_root(self.network.tasks[number].operands[operand])]

    def _execute(self, execute: Execute) -> ExecuteOp:
        number = execute.task
        info, plan = self.network.tasks[number], self.network.plans[number]
        # A temporary buffer that is not in the layout has no elements: its address is given as 0.
        kept = sorted(index for role, _, index, _ in self.keys[number] if role == "temporary")
        number_of = {buffer: position for position, buffer in enumerate(kept, 1)}
        read_of = {use: index for index, read in enumerate(info.reads) for use in read.uses}
        scratch = Scratch(*(self._buffers_of(number, role) for role in ("read", "staging", "temporary")))
        op = ExecuteOp(
            self.names[number],
            [self.buffers[memory_root(value)] for value in info.operands],
            self.buffers[memory_root(info.result)],
            scratch,
            info.op.tiling,
            [len(self.schedule.tasks[number].reads[index].slots) for index in range(len(plan.reads))],
            [
                read_of[position, index]
                for position, inner in enumerate(info.body)
                for index, value in enumerate(inner.operands)
                if isinstance(value, BlockArgument)
            ],
            [number_of.get(buffer, 0) for buffer in info.buffers.of_op],
            _unnamed(info.op.body),
            *([self._action(number, one) for one in part] for part in (execute.begin, execute.steps, execute.last)),
        )
        constants = {info.operands[read.read.operand] for read in plan.reads if read.constant}
        figures = {
            CYCLES: self.cycles[number], WORKING: plan.working_bytes, CONSTANTS: sum(map(bytes_of, constants)),
        }  # fmt: skip
        op.attributes[FIGURES] = DictionaryAttr({key: IntegerAttr(value, i64) for key, value in figures.items()})
        name_buffers(op)
        return op

    def _action(self, number: int, action: Action) -> Operation:
        match action:
            case Load():
                return self._load(action)
            case Gather():
                reads = [
                    index
                    for index, read in enumerate(self.network.plans[number].reads)
                    if read.kind is ReadKind.GATHER and self._buffers_of(number, "read", index)
                ]
                sources = [self._source(number, index) for index in reads]
                targets = [buffer for index in reads for buffer in self._buffers_of(number, "read", index)]
                return GatherOp(sources, targets, self.names[number], reads, action.step, action.relative)
            case Compute():
                return ComputeOp(action.pipelined)
            case Store():
                target = self.buffers[memory_root(self.network.tasks[number].result)]
                return StoreOp(self._buffers_of(number, "staging"), target)

    def _load(self, load: Load) -> LoadOp:
        source, targets = self._source(load.task, load.read), self._buffers_of(load.task, "read", load.read)
        with at(self.network.tasks[load.task].op):
            return LoadOp(
                source, targets, self.names[load.task], load.read, load.step, load.relative, load.multicast_from
            )


def _row_type(whole: BufferType, rows: int) -> BufferType:
    """The type of one row of the largest tile of a value, which has `rows` rows."""
    outer, *inner = whole.shape
    shape = (outer // rows, *inner) if outer % rows == 0 else (prod(whole.shape) // rows,)
    return BufferType(shape, whole.element_type, Space.SRAM)


def _unnamed(body: Region) -> Region:
    """A copy of a task's body without the values' names: `name_buffers` names buffers after tasks."""
    copy = body.clone()
    for value in (*copy.block.args, *(result for op in copy.block.ops for result in op.results)):
        value.name_hint = None
    return copy


def _shape_of_buffer(role: str, index: int, info: TaskInfo, plan: TaskPlan) -> tuple[tuple[int, ...], Attribute]:
    """The shape and element type of a buffer: those of its largest content, or flat if no content fills it."""
    tile = plan.tiling.tile_boxes(info.sizes)[plan.tiling.cores[-1]]
    step = plan.tiling.step_boxes(tile)[0]
    if role == "tile":
        written = written_part(info.result)
        rows = () if written is None else (written.rows,)
        return (*rows, *info.root.largest_result(tile)), element_of(info.result)
    if role == "read":
        read = plan.reads[index]
        element = element_of(info.operands[read.read.operand])
        count = plan.sizes[index].buffer_bytes // read.item_bytes
        gathered = [sliced for sliced in read.whole.values() if read.kind is ReadKind.GATHER]
        shapes = [sliced.gathered_shape for sliced in gathered] or [info.largest_slice(*read.read.uses[0], step)]
        return max(shapes, key=prod) if max(map(prod, shapes)) == count else (count,), element
    if role == "temporary" and index == info.scratch_buffer:
        return (plan.scratch_bytes,), ui8
    operation = info.buffers.of_op.index(index) if role == "temporary" else len(info.body) - 1
    element, shape = element_of(info.body[operation].results[0]), info.root.largest_result(step)
    if role == "temporary" and (nbytes := plan.temporary_bytes(index)) > prod(shape) * element_bytes(element):
        return (nbytes // element_bytes(element),), element  # double buffering: two steps
    return shape, element
