"""Code for the reads of one task: gathers before it begins, loads from DRAM step by step, and views for its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..analysis.planning.gather_schedule import gather_schedule
from ..analysis.planning.plan_task import TaskPlan
from ..analysis.planning.reads import ReadKind, is_shared
from ..analysis.planning.traffic import overlaps
from ..analysis.task_info import TaskInfo
from ..dialects.dataflow.tiling import Box, OperandSlice
from ..dialects.dataflow.types import dtype_code
from .exchange import Exchange, MessagePlan, emit_exchange, split_outermost
from .machine import Machine
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
        self._streams = [[_Stream(tuple(cores)) for cores in read.groups] for read in self.plan.reads]
        self._stream_of = [{core: stream for stream in streams for core in stream.cores} for streams in self._streams]
        self._semaphores: dict[int, Pair] = {}
        """By read: those with which cores pass on what they load, the same for all steps, so that steps are alike."""
        self._gathered: dict[tuple[int, int], tuple[View, tuple[int, ...]]] = {}
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
            if read.kind is ReadKind.GATHER and any(piece.box.volume for piece in read.whole.values())
        ]
        for index, read in reads:
            value = self.info.operands[read.read.operand]
            address = self.places.sram.read(self.number, index, 0)
            for core, piece in read.whole.items():
                buffer = View.dense("sram", address, dtype_code(value), piece.gathered_shape)
                origin = tuple(low - pad for low, pad in zip(piece.bounds.offsets, piece.pad_low, strict=True))
                self._gathered[index, core] = (buffer, origin)
                self.machine.pad(core, buffer, piece.pad_low, piece.pad_high, piece.pad_value)
        parts: dict[int, MessagePlan] = {}
        copies: dict[int, list[tuple[int, View, View]]] = {}
        for index, read in reads:
            for step, boxes in gather_schedule(read, self.info, self.plan, self.steps).items():
                messages, own = parts.setdefault(step, MessagePlan()), copies.setdefault(step, [])
                self._transfers(index, boxes, messages, own)
        self._copies = copies
        self._exchange = Exchange(self.machine, {step: plan.messages for step, plan in parts.items()})

    def _gather_for(self, step: int) -> None:
        """Bring what the step needs and no earlier one did."""
        for core, target, source in self._copies.get(step, ()):
            self.machine.emitters[core].copy(target, source)
        if self._exchange is not None:
            self._exchange.emit(step)

    def _transfers(
        self, index: int, boxes: Mapping[int, Box], messages: MessagePlan, own: list[tuple[int, View, View]]
    ) -> None:
        """How the boxes of a value come to their cores: by messages, or (core, target, source) within a core."""
        value = self.info.operands[self.plan.reads[index].read.operand]
        held = self.places.distribution(value)
        if held is None:
            raise AssertionError("values in DRAM are not gathered")
        # Receivers whose buffers lie alike get the same part of a holder by the same message: views are made once.
        receivers: dict[tuple[object, ...], tuple[Box, list[int]]] = {}
        for holder, core, common in overlaps(held.boxes, boxes):
            buffer, origin = self._gathered[index, core]
            key = (holder, holder == core, common.offsets, common.sizes, origin, buffer.strides)
            found = receivers.get(key)
            if found is None:
                receivers[key] = common, [core]
            else:
                found[1].append(core)
        nonzero = self.info.nonzero(self.plan.reads[index].read)
        for (holder, *_), (common, cores) in receivers.items():
            assert isinstance(holder, int)
            buffer, origin = self._gathered[index, cores[0]]
            tile = self.places.tile(value, holder)
            source = tile.box(_minus(common.offsets, held.boxes[holder].offsets), common.sizes)
            target = buffer.box(_minus(common.offsets, origin), common.sizes)
            if cores == [holder]:
                own.append((holder, target, source))
            else:
                messages.add(holder, cores, source, target, nonzero)

    def fetch(self, step: int, *, constants: bool) -> None:
        """Load or gather what the step needs and is not there yet: only constants, or only the rest."""
        if not constants:
            self._gather_for(step)
        for index, read in enumerate(self.plan.reads):
            if read.kind is ReadKind.STREAM and read.constant == constants:
                for stream in self._streams[index]:
                    self._advance(index, stream, step)

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
        slots = max(1, self.plan.buffers_of(index))
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
        messages = MessagePlan()
        loaders = machine.loaders(cores)
        for loader, part in zip(loaders, split_outermost(piece.box.sizes, len(loaders)), strict=False):
            target = inner.box(part.offsets, part.sizes)
            machine.emitters[loader].load(target, source.box(part.offsets, part.sizes))
            if others := [core for core in cores if core != loader]:
                messages.add(loader, others, target, target)
        if index not in self._semaphores:
            self._semaphores[index] = machine.take_semaphores()
        emit_exchange(messages.messages, machine, self._semaphores[index])

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
            buffer, origin = self._gathered[which, core]
            start = tuple(
                offset - pad - low for offset, pad, low in zip(piece.box.offsets, piece.pad_low, origin, strict=True)
            )
            return buffer.box(start, piece.shape, piece.steps)
        held = self.places.distribution(value)
        if held is None:
            raise AssertionError("values read in place lie in the cores")
        start = _minus(piece.box.offsets, held.boxes[core].offsets)
        return self.places.tile(value, core).box(start, piece.box.sizes, piece.steps)

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


def _minus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x - y for x, y in zip(a, b, strict=True))
