"""Code for the reads of one task: gathers before it begins, loads from DRAM step by step, and views for its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..analysis.planning.gather_schedule import gather_schedule
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.planning.reads import ReadKind, is_shared
from ..analysis.planning.traffic import BoxArrays, overlaps
from ..analysis.task_info import TaskInfo
from ..dialects.dataflow.tiling import Box, OperandSlice
from ..dialects.dataflow.types import dtype_code
from .buffers import Buffers, messages_between
from .exchange import Exchange, emit_exchange, split_outermost
from .machine import Machine
from .messages import Messages
from .places import Places
from .semaphores import Pair
from .view import View


@dataclass
class _Stream:
    """State of one group of cores that load the same slices."""

    cores: tuple[int, ...]
    version: int = -1
    piece: OperandSlice | None = None
    kept: View | None = None
    """Where the slices of all steps lie together."""
    views: dict[int, View] = field(default_factory=dict[int, View])
    """Step -> where its slice lies."""


class TaskReads:
    """Everything that task `number` reads; used in the order gather, then per step fetch and view."""

    def __init__(self, number: int, places: Places, machine: Machine, steps: dict[int, list[Box]]) -> None:
        self.number = number
        self.places = places
        self.machine = machine
        self.info: TaskInfo = places.network.tasks[number]
        self.plan: TaskPlan = places.network.plans[number]
        self.steps = steps
        """Core -> box of each step."""
        self._deep = places.sram.deep.get(number, 0)
        """Buffers of each of the constants that change in every step, where there are more than the plan says."""
        self._streams = [[_Stream(tuple(cores)) for cores in read.groups] for read in self.plan.reads]
        self._stream_of = [{core: stream for stream in streams for core in stream.cores} for streams in self._streams]
        self._semaphores: dict[int, Pair] = {}
        """By read: those with which cores pass on what they load, the same for all steps, so that steps are alike."""
        self._gathered: dict[int, Buffers] = {}
        """By read."""
        self._copies: dict[int, list[tuple[int, View, View]]] = {}
        """Step -> (core, target, source) of what comes before it from the core itself."""
        self._exchange: Exchange | None = None
        """What comes from others, by step."""
        self._read_of = {use: index for index, read in enumerate(self.info.reads) for use in read.uses}

    def gather(self) -> None:
        """Begin to bring the parts of spread values that cores need together: `fetch` brings them."""
        reads = [
            (index, read)
            for index, read in enumerate(self.plan.reads)
            if read.kind is ReadKind.GATHER and read.gathered
        ]
        for index, read in reads:
            value = self.info.operands[read.read.operand]
            address = self.places.sram.read(self.number, index, 0)
            origins = read.whole.origins
            boxes = BoxArrays(read.whole.cores, origins, origins + read.whole.gathered)
            buffers = self._gathered[index] = Buffers(address, dtype_code(value), boxes)
            if read.whole.is_padded:
                for core, piece in read.whole.items():
                    start = _minus(piece.bounds.offsets, piece.pad_low)
                    buffer = buffers.view(core, start, piece.gathered_shape)
                    self.machine.pad(core, buffer, piece.pad_low, piece.pad_high, piece.pad_value)
        parts: dict[int, list[Messages]] = {}
        for index, read in reads:
            for step, boxes in gather_schedule(read, self.info, self.plan, self.steps).items():
                messages = self._transfers(index, boxes, self._copies.setdefault(step, []))
                parts.setdefault(step, []).append(messages)
        self._exchange = Exchange(self.machine, {step: Messages.joined(found) for step, found in parts.items()})

    def _gather_for(self, step: int) -> None:
        """Bring what the step needs and no earlier one did."""
        for core, target, source in self._copies.get(step, ()):
            self.machine.emitters[core].copy(target, source)
        if self._exchange is not None:
            self._exchange.emit(step)

    def _transfers(self, index: int, boxes: BoxArrays, own: list[tuple[int, View, View]]) -> Messages:
        """How the boxes of a value come to their cores: by messages, or (core, target, source) within a core."""
        read = self.plan.reads[index].read
        tiles, buffers = self.places.tiles(self.info.operands[read.operand]), self._gathered[index]
        pairs = overlaps(tiles.boxes, boxes)
        within = pairs.holders == pairs.readers
        inside = pairs.taken(within)
        for core, low, high in zip(inside.readers.tolist(), inside.low.tolist(), inside.high.tolist(), strict=True):
            sizes = _minus(high, low)
            own.append((core, buffers.view(core, low, sizes), tiles.view(core, low, sizes)))
        return messages_between(tiles, buffers, pairs.taken(~within), self.info.nonzero(read))

    def fetch(self, step: int, *, constants: bool) -> None:
        """Load or gather what the step needs and is not there yet: only constants, or only the rest."""
        if not constants:
            self._gather_for(step)
        for index, read in enumerate(self.plan.reads):
            if read.kind is ReadKind.STREAM and read.constant == constants:
                for stream in self._streams[index]:
                    self._advance(index, stream, step)

    def fetch_first_constants(self) -> None:
        """Load what is loaded before the task begins: constants of the first step, or of as many as have buffers."""
        for step in range(self._deep or 1):
            self.fetch(step, constants=True)

    def fetch_later_constants(self, step: int) -> None:
        """Before a step: load the constants that go to the buffers of the step before it."""
        if not self._deep:
            self.fetch(step + 1, constants=True)
        elif 0 < step <= self.plan.tiling.step_count - self._deep:
            self.fetch(step + self._deep - 1, constants=True)

    def single_buffered(self) -> bool:
        """Whether some read's next content overwrites the one in use."""
        return any(size.versions > 1 and self.plan.buffers_of(index) == 1 for index, size in enumerate(self.plan.sizes))

    def _advance(self, index: int, stream: _Stream, step: int) -> None:
        boxes = [self.steps[core][step] for core in stream.cores]
        # A smaller tile of the group may be empty in this step; the others say what is needed.
        box = max(boxes, key=lambda box: box.volume)
        if not box.volume:
            return
        read = self.plan.reads[index]
        if self.plan.sizes[index].kept:
            self._keep(index, stream, step, self.info.read_slice(read.read, box))
            return
        piece = self.info.read_slice(read.read, box)
        if piece == stream.piece:
            stream.views[step] = stream.views[max(stream.views)]
            return
        stream.version += 1
        stream.piece = piece
        value = self.info.operands[read.read.operand]
        slots = max(1, self.plan.buffers_of(index, self._deep))
        empty = 0 in piece.shape
        address = 0 if empty else self.places.sram.read(self.number, index, stream.version % slots)
        view = View.dense("sram", address, dtype_code(value), piece.shape)
        stream.views[step] = view
        if view.count:
            self._load(index, stream.cores, view, piece)

    def _keep(self, index: int, stream: _Stream, step: int, piece: OperandSlice) -> None:
        """Load the slices of all steps the first time, then only look at a part."""
        read = self.plan.reads[index]
        if stream.piece is None:
            stream.piece = max((read.whole[core] for core in stream.cores), key=lambda whole: whole.box.volume)
            dtype = dtype_code(self.info.operands[read.read.operand])
            address = self.places.sram.read(self.number, index, 0)
            stream.kept = View.dense("sram", address, dtype, stream.piece.shape)
            self._load(index, stream.cores, stream.kept, stream.piece)
        assert stream.kept is not None
        start = _minus(piece.box.offsets, stream.piece.box.offsets)
        stream.views[step] = stream.kept.box(start, piece.box.sizes)

    def _load(self, index: int, cores: tuple[int, ...], view: View, piece: OperandSlice) -> None:
        machine = self.machine
        value = self.info.operands[self.plan.reads[index].read.operand]
        inner = view.box(piece.pad_low, piece.box.sizes)
        source = self.places.in_dram(value).box(piece.box.offsets, piece.box.sizes, piece.steps)
        for core in cores:
            machine.pad(core, view, piece.pad_low, piece.pad_high, piece.pad_value)
        size = self.plan.sizes[index]
        if not is_shared(len(cores), size.buffer_bytes * size.versions):
            for core in cores:
                machine.emitters[core].load(inner, source)
            return
        messages: list[tuple[int, list[int], View, View]] = []
        loaders = machine.loaders(cores)
        for loader, part in zip(loaders, split_outermost(piece.box.sizes, len(loaders)), strict=False):
            target = inner.box(part.offsets, part.sizes)
            machine.emitters[loader].load(target, source.box(part.offsets, part.sizes))
            if others := [core for core in cores if core != loader]:
                messages.append((loader, others, target, target))
        if index not in self._semaphores:
            self._semaphores[index] = machine.take_semaphores()
        emit_exchange(Messages.of(messages), machine, self._semaphores[index])

    def operand(self, number: int, index: int, core: int, step: int) -> View:
        """What operation `number` of the body reads as operand `index` on a core in a step."""
        which = self._read_of[number, index]
        read = self.plan.reads[which]
        value = self.info.operands[read.read.operand]
        if read.kind is ReadKind.STREAM:
            return self._stream_of[which][core].views[step]
        piece = self.info.read_slice(read.read, self.steps[core][step])
        if read.kind is ReadKind.INDEXED:
            return self.places.in_dram(value).box(piece.box.offsets, piece.box.sizes)
        if read.kind is ReadKind.GATHER:
            start = _minus(piece.box.offsets, piece.pad_low)
            return self._gathered[which].view(core, start, piece.shape, piece.steps)
        return self.places.tiles(value).view(core, piece.box.offsets, piece.box.sizes, piece.steps)

    def finish(self) -> None:
        """The task is over."""
        for pair in self._semaphores.values():
            self.machine.release_semaphores(pair)
        if self._exchange is not None:
            self._exchange.release()

    def forget(self, step: int) -> None:
        """The step is over."""
        for streams in self._streams:
            for stream in streams:
                stream.views.pop(step - 1, None)


def _minus(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))
