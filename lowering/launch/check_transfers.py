"""
Check of a launch that a user may have edited: the operands of each step are in buffers of the task, and all writes fit
their buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import NoReturn

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...analysis.planning.reads import ReadKind, last_tile
from ...analysis.tasks.slices import Slices
from ...dialects.dataflow.tiling import Box, OperandSlice
from ...dialects.locations import at, located
from ...dialects.manycore import ComputeOp, ExecuteOp, LaunchOp
from ...dialects.manycore.repeat import issued
from ...dialects.memory import GatherOp, LoadOp, SliceTransferOp, Space
from ...dialects.memory.ops import buffer_of
from ...support.errors import InputError
from .launch_schedule import LaunchSchedule, ScheduledTask

SAMPLES = 4
"""At most this many groups of cores are checked: transfers are the same for all cores."""


def check_transfers(launch: LaunchOp, schedule: LaunchSchedule) -> None:
    """
    Raises InputError, located at the operation, if a step of a verified launch reads data before it is transferred, or
    a buffer is too small.
    """
    tasks: dict[str, _Task] = {}
    for number, (op, task) in enumerate(zip(launch.tasks.values(), schedule.tasks, strict=True)):
        with at(op):
            tasks[op.sym_name.data] = _Task(op, task, [index for one, index in schedule.loaded if one == number])
    held: dict[SSAValue, _Held] = {}
    for op in issued(launch.body.block):
        if isinstance(op, SliceTransferOp):
            _issue([op], 0, tasks, held)
        elif isinstance(op, ExecuteOp):
            tasks[op.sym_name.data].find(held)
            last = op.tiling.data.step_count - 1
            _issue(op.begin.block.ops, 0, tasks, held)
            for step in range(last):
                _issue(op.steps.block.ops, step, tasks, held)
            _issue(op.last.block.ops, last, tasks, held)


@dataclass(frozen=True)
class _Held:
    """The contents of a buffer, by the last load into it."""

    source: SSAValue
    whole: bool
    """Whether it holds the slices of all steps."""
    slices: Slices


def _issue(ops: Iterable[Operation], step: int, tasks: dict[str, _Task], held: dict[SSAValue, _Held]) -> None:
    """Apply the operations that are issued in a step. `held`: the contents of each buffer, which is updated."""
    for op in ops:
        if isinstance(op, SliceTransferOp):
            tasks[op.task_name].transfer(op, step)
            if isinstance(op, LoadOp):
                slices = tasks[op.task_name].reads[op.read].whole
                for target in op.targets:
                    held[target] = _Held(op.sources[0], op.step_number is None, slices)
        elif isinstance(op, ComputeOp):
            parent = op.parent_op()
            assert isinstance(parent, ExecuteOp)
            tasks[parent.sym_name.data].compute(step)


@dataclass
class _Stream:
    """The slices of a read from DRAM that one core has loaded."""

    tile: Box
    boxes: list[Box]
    """The box of each step."""
    version: int = -1
    """Number of the newest slice; -1: none was loaded."""
    sliced: OperandSlice | None = None
    """The newest slice."""
    by_step: dict[int, tuple[OperandSlice, int]] = field(default_factory=dict[int, tuple[OperandSlice, int]])
    """Step of the load -> the slice, and its number."""
    whole: bool = False
    """Whether the slices of all steps were loaded together."""


class _Task:
    """State of a task during the walk through the launch."""

    def __init__(self, op: ExecuteOp, task: ScheduledTask, loaded: Sequence[int]) -> None:
        self.op, self.task, self.info, self.loaded = op, task, task.info, loaded
        """`loaded`: numbers of the reads that are loaded for this task."""
        self.reads = [read.plan for read in task.reads]
        self.gathers = [
            index for index, read in enumerate(self.reads) if read.kind is ReadKind.GATHER and read.gathered
        ]
        self.gathered = 0
        """Number of steps that were gathered."""
        for index, read in enumerate(self.reads):
            buffers = op.read_buffers(index)
            if buffers and read.kind is ReadKind.INDEXED:
                self._refuse(f"rows of read {index} are read from DRAM by instructions: expected no buffers", op)
            if read.kind is ReadKind.GATHER and buffers:
                if len(buffers) > 1:
                    self._refuse(f"read {index}, which is gathered, has {len(buffers)} buffers: expected one", op)
                self._check_room(buffers[0], read.gathered, f"the gathered data of read {index}", op)
        self._check_results()

    @cached_property
    def streams(self) -> list[list[_Stream]]:
        """Streams by read, for some of the groups."""
        tiles = self.task.tiling.tile_boxes(self.info.sizes)
        steps: dict[int, list[Box]] = {}

        def of(cores: Sequence[int]) -> _Stream:
            core = max(cores, key=lambda core: tiles[core].volume)
            if core not in steps:
                steps[core] = self.task.tiling.step_boxes(tiles[core])
            return _Stream(tiles[core], steps[core])

        return [[of(cores) for cores in _sample(read.groups)] for read in self.reads]

    def find(self, held: Mapping[SSAValue, _Held]) -> None:
        """At the beginning of the task, find the reads that are not loaded for it in the buffers of earlier tasks."""
        for index, read in enumerate(self.reads):
            if read.kind is not ReadKind.STREAM or not self.task.reads[index].slots or index in self.loaded:
                continue
            found = held.get(self.op.read_buffers(index)[0])
            source = self.op.inputs[read.read.operand]
            if found is None:
                continue  # `compute` reports missing operands of a step
            if found.source is not source or not found.whole or not _same(found.slices, read.whole):
                self._refuse(f"read {index} is not loaded, and its buffer contains another value", self.op)
            for stream in self.streams[index]:
                stream.whole = True

    # ---- results

    def _check_results(self) -> None:
        op, info = self.op, self.info
        tile = last_tile(info, self.task.tiling)
        step = self.task.tiling.step_boxes(tile)[0]
        resident = buffer_of(op.target).space is Space.SRAM
        last = len(info.body) - 1
        for number, (position, nbytes) in enumerate(zip(op.writes.get_values(), info.value_bytes, strict=True)):
            what = f"what '{info.body[number].name}' computes"
            if position:
                self._check_room(op.temporaries[position - 1], info.largest_result(step) * nbytes, what, op)
            elif not resident or (op.staging and number < last):
                for buffer in op.staging:
                    self._check_room(buffer, info.largest_result(step) * nbytes, what, op)
            else:
                self._check_room(op.target, info.largest_result(tile) * nbytes, what, op)
        if scratch := info.scratch_bytes(step):
            if info.scratch_buffer in (0, *op.writes.get_values()):
                self._refuse(f"'{info.root.name}' widens an operand: expected a last temporary of its own for that", op)
            self._check_room(op.temporaries[-1], scratch, f"what '{info.root.name}' widens", op)

    # ---- transfers

    def transfer(self, op: SliceTransferOp, current: int) -> None:
        """Apply a transfer; `current`: the step that contains the operation."""
        step = op.step_number
        if step is not None and op.is_relative:
            step += current
            if step >= self.task.tiling.step_count:
                return
        if isinstance(op, GatherOp):
            self._gather(op, step or 0)
        elif isinstance(op, LoadOp):
            for stream in self.streams[op.read]:
                self._load(op, stream, step)

    def _gather(self, op: GatherOp, step: int) -> None:
        if list(op.reads.get_values()) != self.gathers:
            found = list(op.reads.get_values())
            self._refuse(f"gathers reads {found}: the task gathers {self.gathers} in one operation", op)
        if step != self.gathered:
            self._refuse(f"gathers for step {step}: expected step {self.gathered}, each step once and in order", op)
        self.gathered += 1

    def _load(self, op: LoadOp, stream: _Stream, step: int | None) -> None:
        box = stream.tile if step is None else stream.boxes[step]
        if not box.volume:
            return
        if stream.version >= 0 and stream.whole != (step is None):
            self._refuse(f"read {op.read} is loaded both for single steps and for all steps: expected one of these", op)
        sliced = self.info.read_slice(self.reads[op.read].read, box)
        if sliced != stream.sliced:
            stream.version += 1
            stream.sliced = sliced
            slots = len(self.task.reads[op.read].slots)
            if slots and 0 not in sliced.shape:
                if stream.version % slots >= len(op.targets):
                    self._refuse(f"its slice goes to buffer {stream.version % slots}, it names {len(op.targets)}", op)
                nbytes = prod(sliced.shape) * self.reads[op.read].item_bytes
                self._check_room(op.targets[stream.version % slots], nbytes, f"a slice of read {op.read}", op)
        stream.whole = step is None
        if step is not None:
            stream.by_step[step] = sliced, stream.version

    # ---- computation

    def compute(self, step: int) -> None:
        """Check that all operands of a step have been transferred."""
        if self.gathers and self.gathered <= step:
            self._refuse(f"uses read {self.gathers[0]} in step {step} before it is gathered", self.op)
        for index, read in enumerate(self.reads):
            for stream in self.streams[index] if self.task.reads[index].slots else ():
                if stream.boxes[step].volume and not stream.whole:
                    sliced = self.info.read_slice(read.read, stream.boxes[step])
                    if 0 not in sliced.shape:
                        self._check_use(index, stream, sliced, step)

    def _check_use(self, index: int, stream: _Stream, sliced: OperandSlice, step: int) -> None:
        known = stream.by_step.get(step)
        if known is None:
            known = stream.by_step.get(max((one for one in stream.by_step if one <= step), default=-1))
            if known is not None:
                stream.by_step[step] = known  # so that later steps need no search
        if known is None or known[0] != sliced:
            self._refuse(f"uses read {index} in step {step} before it is transferred", self.op)
        if stream.version - known[1] >= len(self.task.reads[index].slots):
            self._refuse(f"uses read {index} in step {step} after a later slice has taken its buffer", self.op)

    # ---- errors

    def _check_room(self, buffer: SSAValue, nbytes: int, what: str, op: Operation) -> None:
        type = buffer_of(buffer)
        if nbytes > type.nbytes:
            self._refuse(f"{what} takes {nbytes} bytes, {type} has {type.nbytes}", op)

    def _refuse(self, what: str, op: Operation) -> NoReturn:
        raise located(InputError(f"task @{self.op.sym_name.data}: {what}"), op)


def _same(one: Slices, other: Slices) -> bool:
    """Whether all cores have equal boxes."""
    return np.array_equal(one.cores, other.cores) and np.array_equal(one.extents, other.extents)


def _sample(groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """A sample: the first, the last and some between."""
    if len(groups) <= SAMPLES:
        return list(groups)
    return [groups[(len(groups) - 1) * part // (SAMPLES - 1)] for part in range(SAMPLES)]
