"""
The results of tasks as their instructions write them: what lies in memory when a task has done its work, although the
bytes are soon used for something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_CODE, Family
from ..executable.executable import Executable, TensorInfo, source_name
from ..executable.host import tensor_values
from ..executable.task_results import TaskResult, task_results
from ..machine.errors import Fault, location
from ..machine.expand import Stream
from ..machine.memory import Array, Bytes
from .observer import Execute, LaunchView, Watch
from .semantics.base import Access

NOBODY = -1
"""Writer of an unwritten byte."""
_DRAM = -1
"""In the place of a core: DRAM."""


@dataclass
class Region:
    """The bytes of a result, in one memory, as the task's instructions wrote them."""

    start: int
    content: Bytes
    writer: NDArray[np.int64]
    """[bytes] core << 32 | word of the instruction that wrote a byte last, or `NOBODY`."""

    @staticmethod
    def of(start: int, nbytes: int) -> Region:
        """An unwritten region."""
        return Region(start, np.zeros(nbytes, np.uint8), np.full(nbytes, NOBODY, np.int64))

    def reached(self, access: Access, address: int) -> bool:
        """Whether an operand at this address touches the region, as far as its first and last byte tell."""
        low, high = access.geometry.extent(access.itemsize)
        return address + low < self.start + len(self.content) and address + high > self.start

    def take(self, access: Access, address: int, memory: Bytes, writer: int) -> None:
        """Copy what an instruction has written at an address of the memory."""
        shape = (*access.geometry.shape, access.itemsize)
        strides = (*access.geometry.strides, 1)
        low, high = access.geometry.extent(access.itemsize)
        at = address - self.start
        if at + low >= 0 and at + high <= len(self.content):
            source = np.ndarray(shape, np.uint8, memory, address, strides)
            np.ndarray(shape, np.uint8, self.content, at, strides)[...] = source
            wide = tuple(8 * stride for stride in strides)
            np.ndarray(shape, np.int64, self.writer, 8 * at, wide)[...] = writer
            return
        places = np.zeros((), np.int64)
        for size, stride in zip(shape, strides, strict=True):
            places = places[..., None] + np.arange(size) * stride
        places = places.reshape(-1) + at
        places = places[(places >= 0) & (places < len(self.content))]
        self.content[places] = memory[places + self.start]
        self.writer[places] = writer


@dataclass
class Recorded:
    """The result of a task."""

    place: TaskResult
    regions: dict[int, Region]
    """By core; -1 for DRAM."""
    ran: bool = False

    @property
    def complete(self) -> bool:
        """Whether all bytes were written."""
        return self.ran and all((region.writer != NOBODY).all() for region in self.regions.values())

    def value(self) -> Array:
        """The whole result, assembled from the cores' tiles; bf16 is returned as f32. Unwritten elements are 0."""
        place = self.place
        if place.grid is None:
            return self._typed(self.regions[_DRAM].content, place.shape)
        whole = np.zeros(place.shape, self._typed(np.zeros(place.element_bytes, np.uint8), ()).dtype)
        for core, tile in place.tiles().items():
            whole[(..., *tile.index)] = self._typed(self.regions[core].content, tile.sizes)
        return whole

    def _typed(self, content: Bytes, shape: tuple[int, ...]) -> Array:
        info = TensorInfo(self.place.task, "temp", self.place.dtype, shape, 0, len(content))
        return tensor_values(content, info)


@dataclass
class ResultRecorder:
    """
    Records the results of tasks during a run (see `run_functional`): all of those whose place the executable says, or
    those of some. Of a task that runs several times, the last result is kept.

    Raises InputError for an executable that does not say where results are.
    """

    executable: Executable
    places: Iterable[TaskResult] | None = None
    recorded: list[Recorded] = field(init=False)

    def __post_init__(self) -> None:
        places = task_results(self.executable) if self.places is None else self.places
        self.recorded = [Recorded(place, _regions(place)) for place in places]

    def launch(self, view: LaunchView) -> Watch | None:
        """A launch begins."""
        mine = [one for one in self.recorded if one.place.launch == view.number]
        if not mine:
            return None
        watched: dict[int, list[tuple[Recorded, int, Access]]] = {}
        for one in mine:
            one.ran = True
            for core, word, access in _writes(self.executable, view, one):
                flat = int(view.code.base[core]) + word
                watched.setdefault(flat, []).append((one, _DRAM if access.dram else core, access))
        table = np.zeros(int(view.code.length.sum()), np.bool_)
        table[list(watched)] = True

        def watch(stream: Stream, execute: Execute) -> None:
            flat = view.code.base[stream.core] + stream.word
            done = 0
            for at in np.flatnonzero(table[flat]).tolist():
                execute(_part(stream, done, at + 1))
                done = at + 1
                core, word = int(stream.core[at]), int(stream.word[at])
                for one, where, access in watched[int(flat[at])]:
                    memory = view.machine.dram if access.dram else view.machine.srams[core]
                    address = int(stream.address[at, access.slot])
                    region = one.regions[where]
                    if region.reached(access, address):
                        region.take(access, address, memory, core << 32 | word)
            execute(_part(stream, done, len(stream.core)))

        return watch

    def tensors(self) -> dict[str, Array]:
        """The tensors of the network whose values were in memory as a whole, by name, in the order of the tasks."""
        found: dict[str, Array] = {}
        for one in self.recorded:
            if one.place.tensors and one.complete:
                value = one.value()
                found.update((name, value.reshape(shape)) for name, shape in one.place.tensors.items())
        return found

    def writer(self, launch: int, key: int) -> str:
        """Words for who wrote a byte (see `Region.writer`)."""
        if key == NOBODY:
            return "nothing of the task wrote it"
        core, word = key >> 32, key & 0xFFFFFFFF
        program = self.executable.programs[int(self.executable.launches[launch].program_of_core[core])]
        mnemonic = BY_CODE[int(program.words["op"][word])].mnemonic
        source = source_name(self.executable, program, word)
        return f"core {core}, {location(program.name, word, mnemonic, source)}"


def _regions(place: TaskResult) -> dict[int, Region]:
    if place.grid is None:
        return {_DRAM: Region.of(place.address, place.nbytes)}
    return {
        core: Region.of(place.address, int(np.prod(tile.sizes)) * place.element_bytes)
        for core, tile in place.tiles().items()
    }


def _writes(exe: Executable, view: LaunchView, one: Recorded) -> Iterator[tuple[int, int, Access]]:
    """(Core, word, operand) of the instructions of a task that may write its result."""
    mine = view.words_of(exe, one.place.task)
    for core, (base, length) in enumerate(zip(view.code.base.tolist(), view.code.length.tolist(), strict=True)):
        if one.place.grid is not None and core not in one.regions:
            continue
        for word in np.flatnonzero(mine[base : base + length]).tolist():
            op = int(view.steps[core].program.words["op"][word])
            if view.code.kind[base + word] != 0 or BY_CODE[op].family is Family.PUT:
                continue  # of the sequencer, or into other cores, which is never where a task's own tile lies
            try:
                accesses = view.steps[core].decode(word).accesses
            except Fault:  # which the engine tells of, with its place, if the word is ever executed
                continue
            for access in accesses:
                if not access.write or access.dram != (one.place.grid is None):
                    continue
                region = one.regions[_DRAM if access.dram else core]
                fixed = not int(view.code.regs[base + word])
                if not fixed or region.reached(access, int(view.code.address[base + word, access.slot])):
                    yield core, word, access


def _part(stream: Stream, begin: int, end: int) -> Stream:
    return Stream(stream.core[begin:end], stream.word[begin:end], stream.address[begin:end])
