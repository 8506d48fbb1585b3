"""Scheduling of a launch from its plan: the buffer of each value, and the order of transfers and computations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from xdsl.ir import SSAValue

from ...analysis.planning.loops import memory_root, part_of, written_part
from ...analysis.planning.network_plan import NetworkPlan
from ...analysis.planning.reads import ReadKind, ReadPlan, is_shared
from ...analysis.planning.sram_layout import Key, SramLayout
from ...analysis.planning.task_plan import TaskPlan
from .dram_segments import DramSegments, bytes_of
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


def schedule_launch(network: NetworkPlan, dram: DramSegments, sram: SramLayout) -> LaunchSchedule:
    """
    The schedule of planned tasks.

    Transfers overlap with computation: the loads of a step are issued before the computation of the previous step. The
    first constants of a task are prefetched in the last step of the task that `sram.prefetch_from` has for it, else
    loaded before the task begins.
    """
    values = _Values(network, dram, sram)
    scratch: list[dict[Key, int]] = [{} for _ in network.tasks]
    for key, address in sram.addresses.items():
        scratch[key[1]][key] = address
    tasks = [_task(number, network, sram, values, scratch[number]) for number in range(len(network.tasks))]
    prefetched_in: dict[int, list[int]] = {}
    for number, start in sram.prefetch_from.items():
        prefetched_in.setdefault(start, []).append(number)
    order: list[Issued] = []
    body: list[Load | Execute] = []
    for number in range(len(tasks)):
        span = network.loop_of.get(number)
        if span is not None and number == span.first:
            not_prefetched = [one for one in range(span.first, span.last + 1) if one not in sram.prefetch_from]
            order += _kept_constants(not_prefetched, network, sram)
            body = []
        issued: list[Load | Execute] = []
        if span is not None:
            issued += [load for load in _first_constants(number, network, sram) if load.step is not None]
        elif number not in sram.prefetch_from and not _loads_values_first(number, network):
            issued += _first_constants(number, network, sram)
        prefetches = [load for one in prefetched_in.get(number, ()) for load in _first_constants(one, network, sram)]
        issued.append(_execute(number, network, sram, prefetches))
        if span is None:
            order += issued
            continue
        body += issued
        if number == span.last:
            loop = span.op
            count, going = (None if one is None else values.number(one) for one in (loop.count, loop.going))
            order.append(Repeat(span.steps, tuple(body), count, going, loop.ending.must_end, loop.ending.group))
    return LaunchSchedule(tuple(values.buffers), tuple(tasks), tuple(order))


class _Values:
    """The buffers of values that tasks read and write, numbered in the order of first use."""

    def __init__(self, network: NetworkPlan, dram: DramSegments, sram: SramLayout) -> None:
        self._network, self._dram, self._sram = network, dram, sram
        self._producer = {info.result: number for number, info in enumerate(network.tasks)}
        for info in network.tasks:
            if (part := part_of(info.result)) is not None:
                self._producer[part.whole] = self._producer[info.result]
        self._numbers: dict[SSAValue, int] = {}
        self.buffers: list[Buffer] = []

    def number(self, value: SSAValue) -> int:
        """Number of the buffer that holds a value."""
        root = memory_root(value)
        if root not in self._numbers:
            task = self._producer.get(root)
            part = part_of(root)
            if part is not None and self._in_cores(part.whole):
                whole = self.buffers[self.number(part.whole)]
                assert isinstance(whole, TileBuffer)
                buffer = replace(whole, row=StepRow(part.rows, part.first_row, part.next_row))
            elif part is not None:
                whole = self.number(part.whole)
                buffer = DramBuffer(
                    self._dram.addresses[part.whole] + part.start, bytes_of(root), task, (), whole, part.advance
                )
            elif task is not None and self._in_cores(root):
                written = written_part(self._network.tasks[task].result)
                stacked = None if written is None else written.rows
                buffer = TileBuffer(self._sram.addresses.get(("tile", task, 0, 0), 0), task, stacked=stacked)
            else:
                previous = tuple(self.number(other) for other in self._dram.previous.get(root, ()))
                buffer = DramBuffer(self._dram.addresses[root], bytes_of(root), task, previous)
            self._numbers[root] = len(self.buffers)
            self.buffers.append(buffer)
        return self._numbers[root]

    def _in_cores(self, root: SSAValue) -> bool:
        task = self._producer.get(root)
        return task is not None and self._network.plans[task].resident


def _task(
    number: int, network: NetworkPlan, sram: SramLayout, values: _Values, scratch: dict[Key, int]
) -> ScheduledTask:
    """`scratch`: the addresses of the task's additional buffers."""
    info, plan = network.tasks[number], network.plans[number]
    multi_buffered = sram.multi_buffered.get(number, 0)
    reads = tuple(
        ScheduledRead(
            read.read,
            tuple(
                sram.addresses["read", *network.kept.get((number, index), (number, index)), slot]
                for slot in range(plan.buffers_of(index, multi_buffered))
            ),
            partial(_given, read),
        )
        for index, read in enumerate(plan.reads)
    )
    staging = sorted((slot, address) for (role, _, _, slot), address in scratch.items() if role == "staging")
    root = info.double_buffered_root
    root_bytes = 0 if root is None or ("temporary", number, root, 0) not in scratch else plan.temporary_bytes(root)
    temporaries = {index: address for (role, _, index, _), address in scratch.items() if role == "temporary"}
    return ScheduledTask(
        info, plan.tiling, tuple(map(values.number, info.operands)), values.number(info.result), reads,
        tuple(address for _, address in staging), temporaries, double_buffer_offset(info, plan.tiling, root_bytes),
        temporaries.get(info.scratch_buffer),
    )  # fmt: skip


def _given(plan: ReadPlan) -> ReadPlan:
    return plan


def _multicast_from(plan: TaskPlan, index: int) -> int:
    """`Load.multicast_from` of a read: the size of the smallest group of cores that share its loads; 0: none does."""
    size = plan.sizes[index]
    groups = plan.reads[index].groups
    return min((len(cores) for cores in groups if is_shared(len(cores), size.buffer_bytes * size.versions)), default=0)


def _loads_values_first(number: int, network: NetworkPlan) -> bool:
    """
    Whether a task loads its other operands before its constants: the first task, which waits for both, if they are
    fewer bytes. Slices that one core multicasts to others are then sent while the constants are loaded.
    """
    nbytes = [0.0, 0.0]
    plan = network.plans[number]
    if number in network.loop_of:
        return False
    for read, size in zip(plan.reads, plan.sizes, strict=True):
        nbytes[read.constant] += size.dram_bytes / size.versions
    return number == 0 and nbytes[False] < nbytes[True]


def _streamed(plan: TaskPlan, *, constant: bool) -> list[int]:
    """Numbers of the reads that the task loads from DRAM: those of constants, or of other values."""
    reads = enumerate(zip(plan.reads, plan.sizes, strict=True))
    return [
        index
        for index, (read, size) in reads
        if read.kind is ReadKind.STREAM and read.constant == constant and size.buffer_bytes and not size.found
    ]


def _first_constants(number: int, network: NetworkPlan, sram: SramLayout) -> list[Load]:
    """Loads of the constants of the first step, or of the first steps as far as there are buffers (multi-buffering)."""
    plan = network.plans[number]
    return [
        _load(number, plan, index, step)
        for step in range(sram.multi_buffered.get(number, 1))
        for index in _streamed(plan, constant=True)
        if step == 0 or _changes(plan, index)
    ]


def _kept_constants(tasks: Iterable[int], network: NetworkPlan, sram: SramLayout) -> list[Load]:
    """Loads of the constants that stay in SRAM for all steps of a loop."""
    loads = [load for number in tasks for load in _first_constants(number, network, sram)]
    return [load for load in loads if load.step is None]


def _load(number: int, plan: TaskPlan, index: int, step: int, relative: bool = False) -> Load:
    """The load of a read; of all steps if its constants are kept in SRAM for later tasks."""
    return Load(number, index, None if plan.sizes[index].kept else step, relative, _multicast_from(plan, index))


def _changes(plan: TaskPlan, index: int) -> bool:
    """Whether later steps need other slices of a read than the first."""
    return plan.sizes[index].versions > 1 and not plan.sizes[index].kept


def _execute(number: int, network: NetworkPlan, sram: SramLayout, prefetches: list[Load]) -> Execute:
    """The actions of a task before, in and after its steps; `prefetches`: for later tasks, in its last step."""
    info, plan = network.tasks[number], network.plans[number]
    gathers = any(read.kind is ReadKind.GATHER and read.gathered for read in plan.reads)
    begin: list[Action] = [Gather(number, 0)] if gathers else []
    begin += [_load(number, plan, index, 0) for index in _streamed(plan, constant=False)]
    if _loads_values_first(number, network):
        begin += _first_constants(number, network, sram)
    compute: list[Action] = [] if plan.resident or not plan.step_elements else [Store(number)]
    last: list[Action] = [*prefetches, Compute(number), *compute]
    if plan.tiling.step_count == 1:
        return Execute(number, tuple(begin), (), tuple(last))
    following: list[Action] = [Gather(number, 1, relative=True)] if gathers else []
    following += [_load(number, plan, index, 1, relative=True) for index in _changing(plan, constant=False)]
    distance = max(1, sram.multi_buffered.get(number, 0) - 1)
    following += [_load(number, plan, index, distance, relative=True) for index in _changing(plan, constant=True)]
    overlap = not _single_buffered(plan)
    compute = [Compute(number, pipelined=overlap and bool(info.addends)), *compute]
    steps = [*following, *compute] if overlap else [*compute, *following]
    return Execute(number, tuple(begin), tuple(steps), tuple(last))


def _changing(plan: TaskPlan, *, constant: bool) -> list[int]:
    """As `_streamed`, of reads that need other slices in later steps."""
    return [index for index in _streamed(plan, constant=constant) if _changes(plan, index)]


def _single_buffered(plan: TaskPlan) -> bool:
    """Whether a read has one buffer only, so that its next slice must wait for the computation of this step."""
    return any(size.versions > 1 and plan.buffers_of(index) == 1 for index, size in enumerate(plan.sizes))
