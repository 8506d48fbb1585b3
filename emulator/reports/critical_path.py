"""
The critical path of a run: the chain of instructions, messages and waits that ends with its last cycle.

The path is followed backwards. An instruction starts when the last of its dependences is fulfilled: on its unit, which
must be free, on a token of another unit, on a message, or on the sequencer. The path continues with the cause of that
dependence, and so on back to cycle 0. The pieces are contiguous, so their lengths add up to the run's cycles. If
several dependences are fulfilled in the same cycle, the unit has precedence, then tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...dialects.coreasm.isa import QUEUES, Unit
from ..executable.executable import Executable, source_name
from ..timing.engine import TimingResult
from ..timing.kernel_arrays import KIND, LOAD, LOCAL, MAPPED, PUT, PUT_MAPPED, STORE, WAIT, A
from .launch_trace import LaunchTrace, launch_traces

COMPUTES, DRAM_RATE, LINK_RATE = "computes", "DRAM rate", "link rate"
LATENCY, HOPS, BUSY_PORT, BUSY_LINKS = "DRAM latency and way", "hops", "shared DRAM port", "shared links"
SEQUENCER, FULL_QUEUE, SEMAPHORE, HOST = "sequencer", "full queue", "semaphore", "copies from the host"
REASONS = {
    COMPUTES: "instructions execute, limited by the unit's array, lanes or SRAM rate",
    DRAM_RATE: "bytes through a DRAM port, without contention",
    LINK_RATE: "bytes over a link, without contention",
    LATENCY: "hops between DRAM port and core, and dram_latency",
    HOPS: "a message from router to router",
    BUSY_PORT: "loads and stores wait for those of other cores",
    BUSY_LINKS: "packets wait for others on the links",
    SEQUENCER: "no earlier cause: one word per cycle, from the start or since a queue was full",
    FULL_QUEUE: "words wait behind one whose queue is full",
    SEMAPHORE: "consuming a message or credit that has arrived",
    HOST: "no launch runs: the next one waits for copies from the host",
}
"""Descriptions of the reasons of pieces."""


@dataclass(frozen=True)
class Piece:
    """A part of the critical path, from `start` to `end`, in cycles of the run."""

    start: int
    end: int
    core: int
    """The core; -1: none."""
    unit: int
    """The unit of the instruction that the piece belongs to; -1: none."""
    task: str
    """The network's operation; "" if there is none."""
    reason: str
    """One of `REASONS`."""

    @property
    def cycles(self) -> int:
        """The length."""
        return self.end - self.start

    @property
    def unit_name(self) -> str:
        """The name of the unit; "" if there is none."""
        return Unit(self.unit).name if self.unit >= 0 else ""


def critical_path(exe: Executable, timing: TimingResult) -> list[Piece]:
    """The critical path of a traced run as pieces in order; their lengths add up to `timing.cycles`."""
    path: list[Piece] = []
    reached = timing.launches[0][1] if timing.launches else 0
    for begin, end, trace in launch_traces(exe, timing):
        if begin > reached:
            path.append(Piece(reached, begin, -1, -1, "", HOST))
        path += list(_Walk(trace, begin, end).pieces())[::-1]
        reached = end
    return path


class _Walk:
    """The backward traversal of the critical path within one launch."""

    def __init__(self, trace: LaunchTrace, begin: int, end: int) -> None:
        self.trace, self.begin, self.cycles = trace, begin, end - begin
        self.chip = trace.chip

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the launch, in reverse order."""
        trace, now = self.trace, self.cycles
        entry = self.last()
        while entry is not None:
            start = int(trace.start[entry])
            yield from self.of_entry(entry, start, now)
            cause, now, reason = self.cause(entry)
            if reason and now < start:
                yield from self.between(entry, cause, now, start, reason)
            # A full queue has space again when an instruction of it starts, not when that ends.
            while cause is not None and reason == FULL_QUEUE:
                entry = cause
                cause, earlier, reason = self.cause(entry)
                if reason and earlier < now:
                    yield from self.between(entry, cause, earlier, now, reason)
                now = earlier
            entry = cause
        if now > 0:
            yield Piece(self.begin, self.begin + now, -1, -1, "", SEQUENCER)

    def last(self) -> int | None:
        """The entry that completed last; None if no unit executed an instruction."""
        trace = self.trace
        if not len(trace.lane):
            return None
        ends = trace.end.copy()
        kinds = trace.tables.classes[trace.row, KIND]
        for entry in np.flatnonzero(np.isin(kinds, (LOAD, STORE))).tolist():
            ends[entry] += trace.to_port(entry)
        return int(np.argmax(ends))

    def cause(self, entry: int) -> tuple[int | None, int, str]:
        """
        (cause, cycle, reason) of the start of an entry: the entry that fulfilled its last dependence (None: no entry),
        the cycle in which the path continues there, and the reason for the time between that cycle and the start; "" if
        there is no such time.
        """
        trace, start = self.trace, int(self.trace.start[entry])
        previous = trace.previous(entry)
        if previous is not None and trace.end[previous] == start:
            return previous, start, ""
        givers = list(trace.givers(entry))
        for giver in givers:
            if trace.end[giver] == start and not trace.is_transfer(giver):
                return giver, start, ""
        ready, blocker, drained = trace.dispatched(entry)
        if ready == start:
            if blocker < 0:
                return None, 0, SEQUENCER
            if drained:
                return blocker, int(trace.end[blocker]), SEQUENCER
            return blocker, int(trace.start[blocker]), FULL_QUEUE
        late = [giver for giver in givers if trace.is_transfer(giver)]
        if late:
            return max(late, key=lambda giver: int(trace.end[giver])), start, ""
        if trace.of(entry, KIND) == WAIT:
            sender = trace.sender(entry)
            if sender is not None:
                return sender, int(trace.end[sender]), HOPS
        return None, start, ""

    def between(self, entry: int, cause: int | None, begin: int, end: int, reason: str) -> Iterator[Piece]:
        """The pieces between a cause and the start of `entry`, in reverse order."""
        core, unit = divmod(int(self.trace.lane[entry]), QUEUES)
        if reason == HOPS and cause is not None:
            way = min(self.trace.way(cause, core), end - begin)
            yield from self.split(entry, end, [(BUSY_LINKS, end - begin - way), (HOPS, way)])
            return
        yield self.piece(begin, end, core, unit, self.task(entry), reason)

    def of_entry(self, entry: int, start: int, end: int) -> Iterator[Piece]:
        """The pieces from the start of an entry to the cycle in which it was needed, in reverse order."""
        trace, chip = self.trace, self.chip
        kind, length = trace.of(entry, KIND), end - start
        if kind in (LOCAL, MAPPED):
            yield from self.split(entry, end, [(COMPUTES, length)])
        elif kind in (LOAD, STORE):
            nbytes = trace.of(entry, A)
            port = -(-nbytes * chip.dram_ports // chip.dram_bytes_per_cycle)
            link = -(-nbytes // chip.link_bytes_per_cycle)
            free = int(trace.end[entry]) - start
            late = min(max(length - free, 0), trace.to_port(entry))
            rate = min(length - late, max(port, link))
            others = length - late - rate
            yield from self.split(
                entry,
                end,
                [
                    (LATENCY, late),
                    (BUSY_PORT if port >= link else BUSY_LINKS, others),
                    (DRAM_RATE if port >= link else LINK_RATE, rate),
                ],
            )
        elif kind in (PUT, PUT_MAPPED):
            rate = min(length, -(-trace.of(entry, A) // chip.link_bytes_per_cycle))
            yield from self.split(entry, end, [(BUSY_LINKS, length - rate), (LINK_RATE, rate)])
        else:
            yield from self.split(entry, end, [(SEMAPHORE, length)])

    def split(self, entry: int, end: int, parts: list[tuple[str, int]]) -> Iterator[Piece]:
        """Pieces (reason, length) of an entry that end at `end`, in reverse order."""
        core, unit = divmod(int(self.trace.lane[entry]), QUEUES)
        for reason, length in parts:
            if length > 0:
                yield self.piece(end - length, end, core, unit, self.task(entry), reason)
            end -= max(length, 0)

    def piece(self, start: int, end: int, core: int, unit: int, task: str, reason: str) -> Piece:
        return Piece(self.begin + start, self.begin + end, core, unit, task, reason)

    def task(self, entry: int) -> str:
        """The network's operation from which the instruction of an entry was generated; "" if there is none."""
        exe = self.trace.exe
        program = exe.programs[int(self.trace.program[entry])]
        word = int(self.trace.word[entry])
        return source_name(exe, program, word) if word < len(program.words) else ""
