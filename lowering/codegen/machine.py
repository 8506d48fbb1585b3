"""The cores that code is generated for: an instruction stream each, and shared state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...dialects.coreasm.encoding import NO_SOURCE
from ...dialects.coreasm.isa import UNIT_OF_OPCODE, Unit
from .core_sets import CoreSetTable
from .emitter import Emitter
from .messages import Messages
from .semaphores import Pair, SemaphorePool
from .stream import FIELDS, CoreStream, DescriptorTable, Effect, EmittedEnding
from .view import View

ORDER_SPACE = 2
"""Space of effects that do not represent memory: they order instructions of different units."""


Emitted: TypeAlias = dict[Hashable, list[tuple[int, int]]]
"""Emitted instruction groups by everything that they depend on: for each core, start and end in its stream."""


@dataclass
class _Loop:
    """State of the loop whose steps are being emitted."""

    steps: int
    pairs: list[Pair] = field(default_factory=list[Pair])
    """Semaphores that a step takes, in order."""
    taken: int = 0
    """Number of pairs that this step has taken."""

    def take(self, pool: SemaphorePool) -> Pair:
        """The next pair of a step."""
        if self.taken == len(self.pairs):
            self.pairs.append(pool.take())
        self.taken += 1
        return self.pairs[self.taken - 1]


class Machine:
    """Streams and emitters of the active cores, core sets and semaphores."""

    def __init__(self, chip: Chip, cores: Iterable[int]) -> None:
        self.chip = chip
        self.core_sets = CoreSetTable(chip.cores)
        table = DescriptorTable()
        self.streams = {core: CoreStream(table) for core in sorted(set(cores))}
        self.emitters = {core: Emitter(stream, chip) for core, stream in self.streams.items()}
        self._semaphores = SemaphorePool(chip)
        self._source = NO_SOURCE
        self._loop: _Loop | None = None

    def set_source(self, source: int) -> None:
        """Attribute the instructions that follow to this operation."""
        if source == self._source:
            return
        self._source = source
        for emitter in self.emitters.values():
            emitter.source = source

    def issued(self, sources: int) -> NDArray[np.int64]:
        """[sources, units] largest number of instructions on one core, by the operation that they are attributed to."""
        most = np.zeros((sources, len(Unit)), np.int64)
        for stream in self.streams.values():
            arrays = stream.finish()
            units = UNIT_OF_OPCODE[arrays.op].astype(np.int64)
            key = arrays.source.astype(np.int64) * len(Unit) + units
            most = np.maximum(most, np.bincount(key, minlength=most.size).reshape(most.shape))
        return most

    def put(self, messages: Messages, core_sets: NDArray[np.int64], semaphore: int) -> None:
        """Every sender sends its messages, in order, each to a core set."""
        senders = messages.transfers.senders
        of_form: dict[int, list[int]] = {}
        for message, form in enumerate(cast("list[int]", messages.form.tolist())):
            of_form.setdefault(form, []).append(message)
        fields, effects = np.empty((len(messages), FIELDS), np.uint32), np.empty((len(messages), 4), np.int64)
        for form, chosen in of_form.items():  # descriptors are numbered in the order of first use
            own = slice(None) if len(chosen) == len(messages) else np.array(chosen)
            fields[own], effects[own] = self.emitters[int(senders[chosen[0]])].puts(
                messages.forms[form], messages.targets[own], messages.sources[own], core_sets[own], semaphore
            )
        order = np.argsort(senders, kind="stable")
        busy, begins = np.unique(senders[order], return_index=True)
        for sender, own in zip(busy.tolist(), np.split(order, begins[1:]), strict=True):
            self.streams[sender].extend(fields[own], effects[own])

    def take_semaphores(self) -> Pair:
        """
        Semaphores for exchanges; emits a barrier before if none are free without one. Release them after the last use.
        """
        if self._loop is not None:
            return self._loop.take(self._semaphores)
        if self._semaphores.needs_barrier:
            self.barrier()
        return self._semaphores.take()

    def release_semaphores(self, pair: Pair) -> None:
        """Release `pair`: the exchanges that use it have been emitted."""
        if self._loop is None:
            self._semaphores.release(pair)

    def begin_loop(self, steps: int) -> None:
        """
        Begin a loop with its first step. Exchanges use the same semaphores in every step: a core gives the credit for
        its part in a step when it has received all data of the previous step, so that counts of different steps are not
        confused.
        """
        if self._semaphores.has_released:
            self.barrier()
        self._loop = _Loop(steps)

    def begin_step(self, number: int) -> None:
        """Begin this step of the loop, or these steps that run together."""
        assert self._loop is not None
        for stream in self.streams.values():
            stream.begin_step(number, self._loop.steps)

    def reuse_semaphores(self) -> None:
        """Begin a step of the loop: it uses the same semaphores as the previous step, in the same order."""
        assert self._loop is not None
        self._loop.taken = 0

    def end_loop(self, ending: EmittedEnding | None = None) -> None:
        """End the loop after its last emitted step. `ending`: see `EmittedLoop`."""
        assert self._loop is not None
        for stream in self.streams.values():
            stream.end_loop(ending)
        for pair in self._loop.pairs:
            self._semaphores.release(pair)
        self._loop = None

    def barrier(self) -> None:
        """Emit a barrier of all cores."""
        semaphore = self._semaphores.barrier()
        everyone = self.core_sets.intern(frozenset(self.emitters))
        passed: list[Effect] = [(ORDER_SPACE, 0, 1, True)]
        for emitter in self.emitters.values():
            emitter.ready(everyone, semaphore, ())
        for emitter in self.emitters.values():
            emitter.wait(semaphore, len(self.emitters), passed)

    def signal_read_after_write(
        self, producers: Sequence[int], consumers: Sequence[int], written: View, semaphore: int
    ) -> None:
        """Make consumers of `written` (in DRAM) wait until all producers have stored their parts."""
        target = self.core_sets.intern(frozenset(consumers))
        after: list[Effect] = [effect(written, writes=False), (ORDER_SPACE, 0, 1, False)]
        for core in producers:
            self.emitters[core].signal(target, semaphore, after)
        for core in consumers:
            self.emitters[core].wait(semaphore, len(producers), [effect(written, writes=True)])

    def wait_until_read(
        self, users: Mapping[int, Sequence[View]], writers: Sequence[int], room: View, semaphore: int
    ) -> None:
        """Make writers of `room` (in DRAM) wait until all users (core -> the bytes that it reads) are done."""
        target = self.core_sets.intern(frozenset(writers))
        for core, views in users.items():
            after = [effect(view, writes=True) for view in views]
            self.emitters[core].signal(target, semaphore, [*after, (ORDER_SPACE, 0, 1, False)])
        for core in writers:
            self.emitters[core].send_wait(semaphore, len(users), [effect(room, writes=True)])

    def emit_again(self, emitted: Emitted, like: Hashable, cores: Sequence[int], emit: Callable[[], None]) -> None:
        """
        Emit on these cores an instruction group that depends on `like` only: a copy of the group in `emitted`; if there
        is none, by `emit`, and the group is recorded in `emitted`.
        """
        streams = [self.streams[core] for core in cores]
        found = emitted.get(like)
        if found is None:
            begins = [len(stream) for stream in streams]
            emit()
            emitted[like] = [(begin, len(stream)) for begin, stream in zip(begins, streams, strict=True)]
        else:
            for stream, (begin, end) in zip(streams, found, strict=True):
                stream.repeat(stream, begin, end)

    def emit_alike(self, cores: Sequence[int], emit: Callable[[Emitter], None]) -> None:
        """Emit the same instructions on all of these cores: on the first by `emit`, on the others as a copy."""
        first, *others = cores
        stream = self.streams[first]
        begin = len(stream)
        emit(self.emitters[first])
        for core in others:
            self.streams[core].repeat(stream, begin, len(stream))


def pad(emitter: Emitter, buffer: View, low: Sequence[int], high: Sequence[int], value: float) -> None:
    """Fill the borders of a buffer."""
    for dim, (before, after) in enumerate(zip(low, high, strict=True)):
        if before:
            emitter.fill(buffer.part(dim, 0, before), value)
        if after:
            emitter.fill(buffer.part(dim, buffer.shape[dim] - after, after), value)


def effect(view: View, *, writes: bool) -> Effect:
    """The bytes of a view as an effect."""
    low, high = view.extent
    return (1 if view.space == "dram" else 0, low, high, writes)
