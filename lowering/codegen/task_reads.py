"""Code for the reads of one task: gathers, loads from DRAM, and views for its kernels."""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, field

from ...analysis.planning.gather_schedule import gather_schedule
from ...analysis.planning.reads import ReadKind
from ...analysis.planning.traffic import BoxArrays, overlaps
from ...chips.dram_ports import choose_loaders
from ...dialects.dataflow.tiling import Box, OperandSlice
from ..launch.launch_schedule import LaunchSchedule, ScheduledRead
from .buffers import Buffers, messages_between
from .emitter import Emitter
from .exchange import Exchange, emit_exchange, split_outermost
from .machine import Emitted, Machine, pad
from .messages import Messages
from .operand_views import OperandViews
from .semaphores import Pair
from .view import View


@dataclass
class _Stream:
    """State of one group of cores that load the same slices."""

    cores: tuple[int, ...]
    version: int = -1
    sliced: OperandSlice | None = None
    kept: View | None = None
    """The view of the slices of all steps together."""
    views: dict[int, View] = field(default_factory=dict[int, View])
    """Step -> the view of the slice that is first used in it."""

    def view(self, step: int) -> View:
        """The view of the slice of a step."""
        return self.views[max(known for known in self.views if known <= step)]

    def forget(self, step: int) -> None:
        """Drop the views of this step and of earlier ones."""
        following = [known for known in self.views if known <= step + 1]
        for known in sorted(following)[:-1]:
            del self.views[known]


class TaskReads:
    """The reads of task `number`."""

    def __init__(
        self,
        number: int,
        schedule: LaunchSchedule,
        views: OperandViews,
        machine: Machine,
        steps: dict[int, list[Box]],
        loaded: Container[tuple[int, int]],
    ) -> None:
        """
        `loaded`: (task, read) of the reads that are loaded for their task; all others are in their buffers already.
        """
        self.number, self.machine, self.views = number, machine, views
        self.task = schedule.tasks[number]
        self.info = self.task.info
        self.steps = steps
        """Core -> box of each step."""
        reads = [read.plan for read in self.task.reads]
        self._streams = [[_Stream(tuple(cores)) for cores in read.groups] for read in reads]
        self._stream_of = [{core: stream for stream in streams for core in stream.cores} for streams in self._streams]
        self._semaphores: dict[int, Pair] = {}
        """
        By read: the semaphores with which cores forward loaded data; the same in all steps, so that the steps are
        equal.
        """
        self._parts: dict[Hashable, list[tuple[int, Box, View]]] = {}
        """
        By read, cores and SRAM address: (core, box, view) of each part of a slice that one core loads for the others.
        """
        self._passed_on: Emitted = {}
        """
        By the same key, the positions of the exchange that forwards the parts; it is the same in each step that uses
        these buffers.
        """
        self._gathered: dict[int, Buffers] = {}
        """By read, the buffers of the gathered parts."""
        self._copies: dict[int, list[tuple[int, View, View]]] = {}
        """Step -> (core, target, source) of copies within a core that come before it."""
        self._exchange: Exchange | None = None
        """The messages from other cores, by step."""
        for index, (read, streams) in enumerate(zip(self.task.reads, self._streams, strict=True)):
            if streams and read.slots and (number, index) not in loaded:
                for stream in streams:
                    self._all_in_one(index, stream)
        self._read_of = {use: index for index, read in enumerate(self.info.reads) for use in read.uses}

    def gather(self, step: int) -> None:
        """Gather the parts of distributed values that cores need in a step but in none before it."""
        if self._exchange is None:
            self._begin_gather()
        assert self._exchange is not None
        self._exchange.let_come(step)  # credits are given as early as possible
        for core, target, source in self._copies.get(step, ()):
            self.machine.emitters[core].copy(target, source)
        self._exchange.emit(step)

    def _begin_gather(self) -> None:
        """Fill the padding, and decide which messages are sent in which step."""
        reads = [
            (index, read.plan)
            for index, read in enumerate(self.task.reads)
            if read.plan.kind is ReadKind.GATHER and read.plan.gathered
        ]
        for index, read in reads:
            address = self.task.reads[index].slots[0]
            origins = read.whole.origins
            boxes = BoxArrays(read.whole.cores, origins, origins + read.whole.gathered)
            dtype = self.task.operand_dtype(read.read.operand)
            buffers = self._gathered[index] = Buffers(address, dtype, boxes)
            if read.whole.is_padded:
                for core, sliced in read.whole.items():
                    start = _minus(sliced.bounds.offsets, sliced.pad_low)
                    buffer = buffers.view(core, start, sliced.gathered_shape)
                    pad(self.machine.emitters[core], buffer, sliced.pad_low, sliced.pad_high, sliced.pad_value)
        parts: dict[int, list[Messages]] = {}
        for index, read in reads:
            for step, boxes in gather_schedule(read, self.info, self.task.tiling).items():
                messages = self._transfers(index, boxes, self._copies.setdefault(step, []))
                parts.setdefault(step, []).append(messages)
        self._exchange = Exchange(self.machine, {step: Messages.joined(found) for step, found in parts.items()})

    def _transfers(self, index: int, boxes: BoxArrays, own: list[tuple[int, View, View]]) -> Messages:
        """
        The transfers of the boxes of a value to their cores: messages, and copies (core, target, source) within a core.
        """
        read = self.task.reads[index].plan.read
        tiles, buffers = self.views.tiles(self.number, read.operand), self._gathered[index]
        pairs = overlaps(tiles.boxes, boxes)
        within = pairs.holders == pairs.readers
        inside = pairs.taken(within)
        for core, low, high in zip(inside.readers.tolist(), inside.low.tolist(), inside.high.tolist(), strict=True):
            sizes = _minus(high, low)
            own.append((core, buffers.view(core, low, sizes), tiles.view(core, low, sizes)))
        return messages_between(tiles, buffers, pairs.taken(~within), self.info.nonzero(read))

    def load(self, index: int, step: int, multicast_from: int) -> None:
        """Load the slices of a read for a step, unless they are loaded already. `multicast_from`: see `Load`."""
        read = self.task.reads[index]
        for stream in self._streams[index]:
            boxes = [self.steps[core][step] for core in stream.cores]
            # A smaller tile of the group may be empty in this step; the slice is that of the others.
            box = max(boxes, key=lambda box: box.volume)
            if not box.volume:
                continue
            sliced = self.info.read_slice(read.plan.read, box)
            if sliced == stream.sliced:
                continue
            stream.version += 1
            stream.sliced = sliced
            slot = read.slots[stream.version % len(read.slots)] if 0 not in sliced.shape else 0
            dtype = self.task.operand_dtype(read.plan.read.operand)
            view = stream.views[step] = View.dense("sram", slot, dtype, sliced.shape)
            if view.volume:
                self._load(index, stream.cores, view, sliced, multicast_from)

    def load_all(self, index: int, multicast_from: int) -> None:
        """Load the slices of a read for all steps together."""
        for stream in self._streams[index]:
            if stream.sliced is not None or not any(box.volume for core in stream.cores for box in self.steps[core]):
                continue
            self._load(index, stream.cores, *self._all_in_one(index, stream), multicast_from)

    def _all_in_one(self, index: int, stream: _Stream) -> tuple[View, OperandSlice]:
        """Record that the slices of all steps are together in one buffer from now on."""
        read = self.task.reads[index]
        wholes = (read.plan.whole[core] for core in stream.cores)
        stream.sliced = max(wholes, key=lambda whole: whole.box.volume)
        dtype = self.task.operand_dtype(read.plan.read.operand)
        stream.kept = View.dense("sram", read.slots[0], dtype, stream.sliced.shape)
        return stream.kept, stream.sliced

    def _load(self, index: int, cores: tuple[int, ...], view: View, sliced: OperandSlice, multicast_from: int) -> None:
        machine, read = self.machine, self.task.reads[index]
        inner = view.box(sliced.pad_low, sliced.box.sizes)
        whole = self.views.in_dram(self.number, read.plan.read.operand)
        source = whole.box(sliced.box.offsets, sliced.box.sizes, sliced.steps)
        passed_on = multicast_from and len(cores) >= multicast_from

        def emit(emitter: Emitter) -> None:
            pad(emitter, view, sliced.pad_low, sliced.pad_high, sliced.pad_value)
            if not passed_on:
                emitter.load(inner, source)

        machine.emit_alike(cores, emit)
        if not passed_on:
            return
        key = index, cores, inner
        parts = self._parts.get(key)
        if parts is None:
            loaders = choose_loaders(machine.chip, cores)
            boxes = split_outermost(sliced.box.sizes, len(loaders))
            parts = self._parts[key] = [
                (loader, box, inner.box(box.offsets, box.sizes)) for loader, box in zip(loaders, boxes, strict=False)
            ]
        for loader, box, target in parts:
            machine.emitters[loader].load(target, source.box(box.offsets, box.sizes))
        if index not in self._semaphores:
            self._semaphores[index] = machine.take_semaphores()

        def pass_on() -> None:
            messages = [
                (loader, [core for core in cores if core != loader], target, target) for loader, _, target in parts
            ]
            emit_exchange(Messages.of([one for one in messages if one[1]]), machine, self._semaphores[index])

        machine.emit_again(self._passed_on, key, cores, pass_on)

    def operand(self, number: int, index: int, core: int, step: int) -> View:
        """The view that operation `number` of the body reads as operand `index` on a core in a step."""
        which = self._read_of[number, index]
        read = self.task.reads[which]
        if read.plan.kind is ReadKind.STREAM:
            return self._streamed(read, self._stream_of[which][core], step)
        sliced = self.info.read_slice(read.plan.read, self.steps[core][step])
        operand = read.plan.read.operand
        if read.plan.kind is ReadKind.INDEXED:
            return self.views.in_dram(self.number, operand).box(sliced.box.offsets, sliced.box.sizes)
        if read.plan.kind is ReadKind.GATHER:
            start = _minus(sliced.box.offsets, sliced.pad_low)
            return self._gathered[which].view(core, start, sliced.shape, sliced.steps)
        tiles, row = self.views.tiles(self.number, operand), self.views.row(self.number, operand)
        if row is None:
            return tiles.view(core, sliced.box.offsets, sliced.box.sizes, sliced.steps)
        return tiles.view(core, (row, *sliced.box.offsets), (1, *sliced.box.sizes), (1, *sliced.steps)).drop((0,))

    def _streamed(self, read: ScheduledRead, stream: _Stream, step: int) -> View:
        """The state of the loads of a group of cores."""
        if stream.kept is None and read.slots:
            return stream.view(step)
        box = max((self.steps[core][step] for core in stream.cores), key=lambda box: box.volume)
        sliced = self.info.read_slice(read.plan.read, box)
        if stream.kept is None or stream.sliced is None:  # the slices are empty
            return View.dense("sram", 0, self.task.operand_dtype(read.read.operand), sliced.shape)
        return stream.kept.box(_minus(sliced.box.offsets, stream.sliced.box.offsets), sliced.box.sizes)

    def finish(self) -> None:
        """End the task."""
        for pair in self._semaphores.values():
            self.machine.release_semaphores(pair)
        if self._exchange is not None:
            self._exchange.release()

    def forget(self, step: int) -> None:
        """End the step."""
        for streams in self._streams:
            for stream in streams:
                stream.forget(step)


def _minus(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))
