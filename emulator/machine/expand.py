"""
The dynamic instruction stream of a launch: all executed instructions of all cores, in an order that the chip allows.

Control flow depends on data only through the numbers that `lr` reads. Therefore a compiled kernel simulates sequencers,
unit queues, tokens and semaphores without accessing memory, and returns flat arrays: core, word and effective addresses
of each instruction in the order of execution. The functional engine executes in that order, and the checks analyse it.
`drain` and `lr` are in the stream as well; after an `lr` the core continues when it is given the number
(`Sequencer.give`). The *decisions* that follow from these numbers, the counts of loops and whether loops end, are
recorded: with them the same stream can be generated again without numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit

DATA, HALT, NOP, LOOP, ADDI, LI, POST, WAIT, DRAIN, READ, LOOP_BY, LEAVE = range(12)
"""
Kinds of words for the sequencer. DATA: an instruction of a unit; POST and WAIT: those that raise, and wait for, a
semaphore. The others are the sequencer's own, of which DRAIN and READ wait for idle units, and LOOP_BY and LEAVE depend
on numbers that were read.
"""

DONE, FULL, DEADLOCK, FAULT, READS = range(5)
"""
Reasons why the kernel returned. DONE: all cores finished; FULL: the output arrays are full (call again); DEADLOCK;
FAULT: an invalid word; READS: no core continues before it is given the number that it reads (then call again).
"""

LIVE, REPLAY, DECLARED = range(3)
"""Source of decisions. LIVE: numbers; REPLAY: an earlier run; DECLARED: largest counts, and no loop ends early."""

FAULTS = (
    "",
    "the program ends without 'halt'",
    "loop count must be at least 1 and its body must hold at least one word of the enclosing block",
    "loops are nested deeper than 4",
    "the chip has no such semaphore",
    "there is no such core set",
    "more instructions than the limit of this run: check the loop count",
    "the loop is to run {value} times: expected 0 to {most}; allow more (of a compiled network, --max-steps)",
    "there is no loop to leave",
)
"""Descriptions of faults by number."""
COUNT = 7
"""The fault of a loop count out of range."""
NO_MORE = "the condition of a loop still holds after its largest number of steps: compile with a larger --max-steps"
"""Message of that fault if 0 is the only valid count, as after a loop that must end by its condition."""

CHUNK = 1 << 16
"""Number of instructions per chunk of the stream."""
DECISIONS = 1 << 10
"""Maximum number of decisions per chunk of the stream."""


class Code(NamedTuple):
    """The words of all cores of a launch, one core after another, with parameters inserted; [words] each."""

    base: NDArray[np.int64]
    """[cores] index of a core's first word."""
    length: NDArray[np.int64]
    """[cores] number of words of a core."""
    kind: NDArray[np.uint8]
    unit: NDArray[np.uint8]
    """For `drain` and `lr`, DAU: these execute when all units are idle, so any unit will do."""
    wait: NDArray[np.uint8]
    signal: NDArray[np.uint8]
    regs: NDArray[np.uint16]
    imm: NDArray[np.int64]
    address: NDArray[np.int64]
    """[words, 4]; the two halves of 64-bit addresses of DRAM operands are combined in the operand's slot."""
    core_set: NDArray[np.int64]
    """Index of the core set of instructions of kind POST."""
    core_sets: NDArray[np.bool_]
    """[sets, cores]"""


@dataclass
class Stream:
    """A chunk of the dynamic stream, in execution order."""

    core: NDArray[np.int32]
    word: NDArray[np.int32]
    """Index in the core's program."""
    address: NDArray[np.int64]
    """[n, 4] effective addresses."""

    def part(self, begin: int, end: int) -> Stream:
        """The instructions `begin` to `end` (exclusive)."""
        return Stream(self.core[begin:end], self.word[begin:end], self.address[begin:end])


class Decisions(NamedTuple):
    """Decisions of each core in the order of execution: counts of `loop.r`; for `leave`, 0 if the loop ends, else 1."""

    first: NDArray[np.int64]
    """[cores + 1] index of the first decision of each core in `values`."""
    values: NDArray[np.int64]

    def of_core(self, core: int) -> list[int]:
        """The decisions of one core."""
        return self.values[self.first[core] : self.first[core + 1]].tolist()

    @staticmethod
    def of(cores: int, core: NDArray[np.int64], values: NDArray[np.int64]) -> Decisions:
        """From unsorted `values`, and the core of each; those of the same core are in order."""
        order = np.argsort(core, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(core, minlength=cores))]).astype(np.int64)
        return Decisions(first, np.ascontiguousarray(values[order]))


class SequencerState(NamedTuple):
    """What all sequencers and queues hold between two chunks of a stream."""

    pc: NDArray[np.int64]
    """[cores] index of the next word in each core's program."""
    registers: NDArray[np.int64]
    """[cores, 16]"""
    loops: NDArray[np.int64]
    """[cores, 4, 3] start, end and remaining iterations of active loops."""
    depth: NDArray[np.int64]
    """[cores] number of active loops."""
    halted: NDArray[np.bool_]
    queue: NDArray[np.int64]
    """[cores, 8, depth, 5] word and effective addresses of instructions that wait in queues."""
    head: NDArray[np.int64]
    """[cores, 8] position of the first instruction in each queue."""
    queued: NDArray[np.int64]
    """[cores, 8] instructions in each queue."""
    tokens: NDArray[np.int64]
    """[cores, 8, 8] tokens from unit U to unit V."""
    counters: NDArray[np.int64]
    """[cores, semaphores]"""
    reading: NDArray[np.int64]
    """[cores] 1: the core waits for the number that it reads; 2: it was given the number."""
    next_known: NDArray[np.int64]
    """[cores] index of the next known decision."""
    steps: NDArray[np.int64]
    """[1] number of words that were executed."""
    fault: NDArray[np.int64]
    """[4] fault number, core, word, count."""

    @staticmethod
    def at_start(cores: int, queue_depth: int, semaphores: int, known: Decisions) -> SequencerState:
        """The state before the first word."""
        pc, depth, reading = (np.zeros(cores, np.int64) for _ in range(3))
        head, queued = (np.zeros((cores, 8), np.int64) for _ in range(2))
        return SequencerState(
            pc, np.zeros((cores, 16), np.int64), np.zeros((cores, 4, 3), np.int64), depth, np.zeros(cores, np.bool_),
            np.zeros((cores, 8, queue_depth, 5), np.int64), head, queued, np.zeros((cores, 8, 8), np.int64),
            np.zeros((cores, semaphores), np.int64), reading, known.first[:-1].copy(), np.zeros(1, np.int64),
            np.zeros(4, np.int64),
        )  # fmt: skip


@dataclass
class Sequencer:
    """All sequencers and queues; `chunks` runs them to the end."""

    code: Code
    queue_depth: int
    semaphores: int
    limit: int = 1 << 40
    """Maximum number of words to execute, including loops and nops."""
    mode: int = LIVE
    known: Decisions | None = None
    """The decisions, if the mode is REPLAY."""
    state: SequencerState = field(init=False)
    status: int = DONE
    made: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])
    """For each chunk, [n, 2] decisions: core and value."""

    def __post_init__(self) -> None:
        cores = len(self.code.base)
        if self.known is None:
            self.known = Decisions(np.zeros(cores + 1, np.int64), np.zeros(0, np.int64))
        self.state = SequencerState.at_start(cores, self.queue_depth, self.semaphores, self.known)

    def give(self, cores: NDArray[np.int32], words: NDArray[np.int32], numbers: NDArray[np.int64]) -> None:
        """Set the registers of `cores` to the `numbers` that they read by these `words`, so that they continue."""
        registers = self.code.imm[self.code.base[cores] + words]
        self.state.registers[cores, registers] = numbers
        self.state.reading[cores] = 2

    @property
    def decisions(self) -> Decisions:
        """The decisions made so far."""
        made = np.concatenate([np.zeros((0, 2), np.int64), *self.made])
        return Decisions.of(len(self.code.base), made[:, 0], made[:, 1])

    def chunks(self) -> Iterator[Stream]:
        """Run to the end, in chunks of at most `CHUNK` instructions; afterwards `status` is the reason for the end."""
        while True:
            core, word = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
            address = np.empty((CHUNK, 4), np.int64)
            made, counts = np.empty((DECISIONS, 2), np.int64), np.zeros(1, np.int64)
            assert self.known is not None
            count, self.status = _sequence(
                self.code, self.state, self.known, self.mode, self.limit, core, word, address, made, counts
            )
            if counts[0]:
                self.made.append(made[: counts[0]])
            if count:
                yield Stream(core[:count], word[:count], address[:count])
            if self.status not in (FULL, READS):
                return


@jit
def _ready(f: int, c: int, code: Code, state: SequencerState) -> bool:
    # whether an instruction at the head of its queue may start
    w = code.wait[f]
    if w:
        u = code.unit[f]
        for v in range(8):
            if (w >> v) & 1 and state.tokens[c, v, u] == 0:
                return False
    return bool(code.kind[f] != 7 or state.counters[c, code.imm[f]] >= code.address[f, 0])


@jit
def _execute(f: int, c: int, code: Code, state: SequencerState) -> None:
    # consume tokens, signal tokens, then update semaphores
    tokens, counters, imm = state.tokens, state.counters, code.imm
    u = code.unit[f]
    w, s = code.wait[f], code.signal[f]
    if w or s:
        for v in range(8):
            if (w >> v) & 1:
                tokens[c, v, u] -= 1
        for v in range(8):
            if (s >> v) & 1:
                tokens[c, u, v] += 1
    k = code.kind[f]
    if k == 7:
        counters[c, imm[f]] -= code.address[f, 0]
    elif k == 6:
        members = code.core_sets[code.core_set[f]]
        for d in range(members.size):
            if members[d]:
                counters[d, imm[f]] += 1


@jit
def _decision(
    c: int, live: int, declared: int, mode: int, known: Decisions, next_known: Any, made: Any, counts: Any
) -> int:
    # returns and records the next decision of a core
    value = declared
    if mode == 0:
        value = live
    elif mode == 1 and next_known[c] < known.first[c + 1]:
        value = int(known.values[next_known[c]])
        next_known[c] += 1
    made[counts[0], 0] = c
    made[counts[0], 1] = value
    counts[0] += 1
    return value


@jit
def _sequence(
    code: Code, state: SequencerState, known: Decisions, mode: int, limit: int, out_core: Any, out_word: Any,
    out_address: Any, made: Any, counts: Any,
) -> tuple[int, int]:  # fmt: skip
    base, length, kind, unit, regs, imm, address = (
        code.base, code.length, code.kind, code.unit, code.regs, code.imm, code.address,
    )  # fmt: skip
    core_set, core_sets = code.core_set, code.core_sets
    pc, registers, loops, depth, halted, queue, head, queued, _, counters, reading, next_known, steps, fault = state
    n = 0
    cap = out_core.size
    cores = pc.size
    slots = queue.shape[2]
    while True:
        active = False
        progress = False
        for c in range(cores):
            waiting = 0
            for u in range(8):
                waiting += queued[c, u]
            if halted[c] and waiting == 0:
                continue
            active = True
            while True:
                # execute instructions at the heads of queues that are ready
                moved = waiting > 0
                while moved:
                    moved = False
                    for u in range(8):
                        while queued[c, u] > 0:
                            h = head[c, u]
                            f = queue[c, u, h, 0]
                            if not _ready(f, c, code, state):
                                break
                            if n == cap:
                                return n, 1
                            _execute(f, c, code, state)
                            out_core[n] = c
                            out_word[n] = f - base[c]
                            for k in range(4):
                                out_address[n, k] = queue[c, u, h, 1 + k]
                            n += 1
                            head[c, u] = (h + 1) % slots
                            queued[c, u] -= 1
                            waiting -= 1
                            moved = True
                            progress = True
                    if waiting == 0:
                        break
                if halted[c]:
                    break
                p = pc[c]
                if p >= length[c]:
                    fault[0], fault[1], fault[2] = 1, c, p - 1
                    return n, 3
                f = base[c] + p
                what = kind[f]
                if what == 0 or what == 6 or what == 7:
                    if what >= 6 and (imm[f] < 0 or imm[f] >= counters.shape[1]):
                        fault[0], fault[1], fault[2] = 4, c, p
                        return n, 3
                    if what == 6 and core_set[f] >= core_sets.shape[0]:
                        fault[0], fault[1], fault[2] = 5, c, p
                        return n, 3
                    u = unit[f]
                    r = regs[f]
                    if queued[c, u] == 0 and _ready(f, c, code, state):
                        if n == cap:
                            return n, 1
                        _execute(f, c, code, state)
                        out_core[n] = c
                        out_word[n] = p
                        for k in range(4):
                            out_address[n, k] = address[f, k] + registers[c, (r >> (4 * k)) & 15]
                        n += 1
                    elif queued[c, u] < slots:
                        h = (head[c, u] + queued[c, u]) % slots
                        queue[c, u, h, 0] = f
                        for k in range(4):
                            queue[c, u, h, 1 + k] = address[f, k] + registers[c, (r >> (4 * k)) & 15]
                        queued[c, u] += 1
                        waiting += 1
                    else:
                        break
                    pc[c] = p + 1
                elif what == 1:
                    halted[c] = True
                elif what == 2:
                    pc[c] = p + 1
                elif what == 8 or what == 9:
                    if waiting > 0:
                        break
                    if reading[c] == 0:
                        if n == cap:
                            return n, 1
                        out_core[n] = c
                        out_word[n] = p
                        r = regs[f]
                        for k in range(4):
                            out_address[n, k] = address[f, k] + registers[c, (r >> (4 * k)) & 15]
                        n += 1
                        reading[c] = 1 if what == 9 and mode == 0 else 2
                        progress = True
                    if reading[c] == 1:
                        break
                    reading[c] = 0
                    pc[c] = p + 1
                elif what == 11:
                    if depth[c] == 0:
                        fault[0], fault[1], fault[2] = 8, c, p
                        return n, 3
                    if counts[0] == made.shape[0]:
                        return n, 1
                    stays = 1 if registers[c, imm[f] & 15] != 0 else 0
                    pc[c] = p + 1
                    if _decision(c, stays, 1, mode, known, next_known, made, counts) == 0:
                        loops[c, depth[c] - 1, 2] = 1  # this was the last iteration
                        pc[c] = loops[c, depth[c] - 1, 1]
                elif what == 3 or what == 10:
                    count, body, least = address[f, 0], address[f, 1], 1
                    end = length[c] if depth[c] == 0 else loops[c, depth[c] - 1, 1]
                    if what == 10:
                        if counts[0] == made.shape[0]:
                            return n, 1
                        most, least = count, 0
                        count = registers[c, imm[f] & 15]
                        count = _decision(c, count, most, mode, known, next_known, made, counts)
                        if count < 0 or count > most:
                            fault[0], fault[1], fault[2], fault[3] = 7, c, p, count
                            return n, 3
                    if count < least or body < 1 or p + 1 + body > end:
                        fault[0], fault[1], fault[2] = 2, c, p
                        return n, 3
                    if depth[c] == 4:
                        fault[0], fault[1], fault[2] = 3, c, p
                        return n, 3
                    if count > 0:
                        loops[c, depth[c], 0] = p + 1
                        loops[c, depth[c], 1] = p + 1 + body
                        loops[c, depth[c], 2] = count
                        depth[c] += 1
                        pc[c] = p + 1
                    else:
                        pc[c] = p + 1 + body
                else:
                    value = address[f, 0]
                    if value >= 1 << 31:
                        value -= 1 << 32
                    r = imm[f] & 15
                    if r != 0:
                        registers[c, r] = registers[c, r] + value if what == 4 else value
                    pc[c] = p + 1
                while what != 3 and depth[c] > 0 and pc[c] == loops[c, depth[c] - 1, 1]:
                    loops[c, depth[c] - 1, 2] -= 1
                    if loops[c, depth[c] - 1, 2] > 0:
                        pc[c] = loops[c, depth[c] - 1, 0]
                        break
                    depth[c] -= 1
                progress = True
                steps[0] += 1
                if steps[0] > limit:
                    fault[0], fault[1], fault[2] = 6, c, p
                    return n, 3
        if not active:
            return n, 0
        if not progress:
            for c in range(cores):
                if reading[c] == 1:
                    return n, 4
            return n, 2
