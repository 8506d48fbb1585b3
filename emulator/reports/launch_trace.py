"""The trace of one launch, indexed by lane and word, with the sources of tokens, messages and dispatch times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...chips.dram_ports import port_of_core, port_rows
from ...dialects.coreasm.isa import QUEUES
from ..executable.executable import Executable
from ..machine.expand import Decisions
from ..timing.engine import TimingResult, Trace
from ..timing.kernel_arrays import (
    DRAIN,
    HALT,
    KIND,
    LEAVE,
    LOAD,
    LOOP,
    LOOP_BY,
    PUT,
    PUT_MAPPED,
    SIGNAL,
    SIGNALS,
    STORE,
    TARGET,
    UNIT,
    WAITS,
    A,
    B,
)
from ..timing.tables import Tables, build_tables

MESSAGES = (PUT, PUT_MAPPED, SIGNAL)


class LaunchTrace:
    """
    The trace of one launch. An *entry* is one execution of an instruction of a unit; entries are numbered by lane
    (core * 8 + unit), and within a lane in the order of execution. Times count from the start of the launch.
    """

    def __init__(
        self,
        exe: Executable,
        tables: Tables,
        trace: Trace,
        chosen: slice,
        begin: int,
        decisions: Decisions | None = None,
    ) -> None:
        """`chosen`: the part of `trace` that belongs to this launch; `begin`: the cycle in which the launch starts."""
        self.decisions = decisions
        lane = trace.core[chosen].astype(np.int64) * QUEUES + trace.unit[chosen]
        order = np.argsort(lane, kind="stable")
        self.exe, self.chip, self.tables = exe, exe.chip, tables
        self.lane: NDArray[np.int64] = lane[order]
        self.start: NDArray[np.int64] = trace.start[chosen][order] - begin
        self.end: NDArray[np.int64] = trace.end[chosen][order] - begin
        self.word: NDArray[np.int64] = trace.word[chosen][order].astype(np.int64)
        self.program: NDArray[np.int64] = trace.program[chosen][order].astype(np.int64)
        self.row: NDArray[np.int64] = tables.word_class[tables.base[self.lane // QUEUES] + self.word].astype(np.int64)
        """[entries] the class of the word of each entry."""
        self.first: NDArray[np.int64] = np.searchsorted(self.lane, np.arange(exe.chip.cores * QUEUES + 1))
        """[lanes + 1] the first entry of each lane."""
        self._given: dict[tuple[int, int], NDArray[np.int64]] = {}
        self._taken: dict[tuple[int, int], NDArray[np.int64]] = {}
        self._messages: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self._dispatch: dict[int, dict[int, tuple[int, int, bool]]] = {}

    def of(self, entry: int, column: int) -> int:
        """A column of the class of an entry's word."""
        return int(self.tables.classes[self.row[entry], column])

    def previous(self, entry: int) -> int | None:
        """The previous entry of the same lane; None if there is none."""
        return entry - 1 if entry > self.first[self.lane[entry]] else None

    def givers(self, entry: int) -> Iterator[int]:
        """The entries that gave the tokens that an entry took: the n-th token from a unit is from its n-th signal."""
        lane = int(self.lane[entry])
        core, unit = divmod(lane, QUEUES)
        waits = self.of(entry, WAITS)
        for other in range(QUEUES):
            if waits >> other & 1:
                taken = self._taken.setdefault((lane, other), self._entries(lane, WAITS, other))
                source = core * QUEUES + other
                given = self._given.setdefault((source, unit), self._entries(source, SIGNALS, unit))
                yield int(given[np.searchsorted(taken, entry)])

    def _entries(self, lane: int, column: int, unit: int) -> NDArray[np.int64]:
        """The entries of a lane that wait for `unit` (column WAITS), or give it a token (column SIGNALS)."""
        entries: NDArray[np.int64] = np.arange(int(self.first[lane]), int(self.first[lane + 1]))
        return entries[self.tables.classes[self.row[entries], column] >> unit & 1 == 1]

    def sender(self, entry: int) -> int | None:
        """
        The entry that sent the last message that a wait needed; None if there is none.

        Traces do not contain the arrival times of messages. Messages are ordered by their earliest possible arrival; if
        contention changed the order, the result is a message that arrived at nearly the same time.
        """
        core, semaphore = int(self.lane[entry]) // QUEUES, self.of(entry, B)
        key = (core, semaphore)
        if key not in self._messages:
            self._messages[key] = self._messages_to(core, semaphore)
        messages, arrivals = self._messages[key]
        lane = int(self.lane[entry])
        before: NDArray[np.int64] = np.arange(int(self.first[lane]), entry + 1)
        same = (self._kind[before] == self.of(entry, KIND)) & (self.tables.classes[self.row[before], B] == semaphore)
        counts: NDArray[np.int64] = self.tables.classes[self.row[before[same]], A]
        needed = int(np.sum(counts))
        possible = int(np.searchsorted(arrivals, int(self.start[entry]), side="right"))
        if not possible:
            return None
        return int(messages[min(needed, possible) - 1])

    @cached_property
    def _kind(self) -> NDArray[np.int64]:
        return self.tables.classes[self.row, KIND]

    def _messages_to(self, core: int, semaphore: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(entries that raise a semaphore of a core, their earliest arrivals), sorted by arrival."""
        classes = self.tables.classes
        sends = np.isin(classes[:, KIND], MESSAGES) & (classes[:, B] == semaphore)
        sets = np.asarray(self.exe.core_sets, np.bool_).reshape(-1, self.chip.cores)
        rows = [row for row in np.flatnonzero(sends).tolist() if sets[classes[row, TARGET], core]]
        entries: NDArray[np.int64] = np.flatnonzero(np.isin(self.row, rows))
        ways = [self.way(entry, core) for entry in entries.tolist()]
        arrivals: NDArray[np.int64] = self.end[entries] + np.array(ways, np.int64)
        order = np.argsort(arrivals, kind="stable")
        return entries[order], arrivals[order]

    def way(self, entry: int, core: int) -> int:
        """Cycles of the hops from the core of an entry to another core."""
        own, cols = int(self.lane[entry]) // QUEUES, self.chip.cols
        return max(self.chip.hop_cycles, 1) * (abs(own % cols - core % cols) + abs(own // cols - core // cols))

    def to_port(self, entry: int) -> int:
        """Cycles of the hops between an entry's core and its DRAM port, plus `dram_latency`."""
        port = port_of_core(self.chip, int(self.lane[entry]) // QUEUES)
        hops = self.way(entry, port_rows(self.chip)[port] * self.chip.cols)
        return self.chip.dram_latency + hops + (max(self.chip.hop_cycles, 1) if self.of(entry, KIND) == LOAD else 0)

    def _complete(self, entry: int) -> int:
        """The cycle in which an entry is complete; for loads and stores, as without contention."""
        return int(self.end[entry]) + (self.to_port(entry) if self.is_transfer(entry) else 0)

    def is_transfer(self, entry: int) -> bool:
        """Whether an entry is a load or store, which gives its tokens after its unit is free again."""
        return self.of(entry, KIND) in (LOAD, STORE)

    def dispatched(self, entry: int) -> tuple[int, int, bool]:
        """
        (cycle, blocker, drained) of the dispatch of an entry: the cycle from which it could start; the entry whose
        start freed space in a full queue, so that the sequencer continued (-1: it never waited); True if the sequencer
        waited for idle units instead, until `blocker` was complete.
        """
        core = int(self.lane[entry]) // QUEUES
        if core not in self._dispatch:
            self._dispatch[core] = self._follow_sequencer(core)
        return self._dispatch[core][entry]

    def _follow_sequencer(self, core: int) -> dict[int, tuple[int, int, bool]]:
        """The results of `dispatched` for all entries of a core, by a simulation of its sequencer."""
        classes, depth = self.tables.classes, self.chip.queue_depth
        row = self.tables.word_class
        counts = [0] * QUEUES
        found: dict[int, tuple[int, int, bool]] = {}
        loops: list[list[int]] = []
        word, time, blocker, drained = int(self.tables.base[core]), 0, -1, False
        decisions = iter(() if self.decisions is None else self.decisions.of_core(core))
        while True:
            kind, unit, a, b = (int(classes[row[word], column]) for column in (KIND, UNIT, A, B))
            following = word + 1
            if kind < HALT:
                lane = core * QUEUES + unit
                entry = int(self.first[lane]) + counts[unit]
                if counts[unit] >= depth:
                    freed = entry - depth
                    if self.start[freed] > time:
                        time, blocker, drained = int(self.start[freed]), freed, False
                counts[unit] += 1
                time += 1
                found[entry] = (time, blocker, drained)
            else:
                if kind == DRAIN:
                    lanes = range(core * QUEUES, (core + 1) * QUEUES)
                    last = [
                        int(self.first[lane]) + counts[lane % QUEUES] - 1 for lane in lanes if counts[lane % QUEUES]
                    ]
                    complete = max(((self._complete(one), one) for one in last), default=(0, -1))
                    if complete[0] > time:
                        (time, blocker), drained = complete, True
                time += 1
                if kind == HALT:
                    return found
                if kind in (LOOP_BY, LEAVE):
                    a = next(decisions, 1 if kind == LEAVE else a)
                if kind == LEAVE and not a:
                    loops[-1][2], following = 1, loops[-1][1]
                elif kind == LOOP_BY and not a:
                    following += b
                elif kind in (LOOP, LOOP_BY):
                    loops.append([following, following + b, a])
            while loops and loops[-1][1] == following:
                loops[-1][2] -= 1
                if loops[-1][2] > 0:
                    following = loops[-1][0]
                    break
                loops.pop()
            word = following


def launch_traces(exe: Executable, timing: TimingResult) -> Iterator[tuple[int, int, LaunchTrace]]:
    """(start, end, trace) of each launch of a traced run, in order; start and end in cycles of the run."""
    if timing.trace is None:
        return
    known: dict[int, Tables] = {}
    at = 0
    for run, (number, begin, end) in enumerate(timing.launches):
        if number not in known:
            known[number] = build_tables(exe, exe.launches[number])
        decisions = timing.decisions.get(run)
        count = int(known[number].instructions(decisions)[:, :QUEUES].sum())
        yield begin, end, LaunchTrace(exe, known[number], timing.trace, slice(at, at + count), begin, decisions)
        at += count
