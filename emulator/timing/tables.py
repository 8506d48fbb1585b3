"""A launch of an executable as flat tables: the timing properties of its words, computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import WORD
from ...dialects.coreasm.isa import DEPENDS_ON_DATA, MAX_LOOPS, MNEMONICS, OPCODE, UNIT_OF_OPCODE, Unit
from ...support.jit import Array, jit
from ..executable.executable import Executable, Launch, Program
from ..executable.load import patched_words
from ..machine.costs import WordCosts, costs_by_descriptor
from ..machine.errors import EmulationError
from ..machine.expand import Decisions
from ..machine.noc import Routes, build_routes
from ..machine.word_classes import classify
from .kernel_arrays import (
    COLUMNS,
    DRAIN,
    HALT,
    KIND,
    LEAD,
    LEAVE,
    LOAD,
    LOCAL,
    LOOP,
    LOOP_BY,
    MAPPED,
    PUT,
    PUT_MAPPED,
    SEQ,
    SIGNAL,
    SIGNALS,
    STORE,
    TARGET,
    UNIT,
    WAIT,
    WAITS,
    A,
    B,
)

MAX_DYNAMIC = 10**11
"""
Maximum number of instructions that one core may execute; more would run for hours, and is due to a damaged loop count.
"""

_KIND_BY_NAME = {
    "halt": HALT, "loop": LOOP, "nop": SEQ, "addi": SEQ, "li": SEQ, "drain": DRAIN, "lr": DRAIN, "loop.r": LOOP_BY,
    "leave": LEAVE, "put": PUT, "signal": SIGNAL, "ready": SIGNAL,
    "send.wait": WAIT, "wait": WAIT, "load": LOAD, "load.gather": LOAD, "store": STORE,
}  # fmt: skip
_KIND = np.array([_KIND_BY_NAME.get(name, LOCAL) for name in MNEMONICS], np.uint8)
_KIND[DEPENDS_ON_DATA] = MAPPED
_KIND[OPCODE["put.z"]] = PUT_MAPPED
_COUNTED = np.isin(_KIND, [LOOP, LOOP_BY, WAIT])


@dataclass(frozen=True)
class Tables:
    """
    The tables of a launch: its distinct segments one after another, and the timing properties of its words.

    A segment is a program for the cores that run it with the same parameters, as far as these affect timing; addresses
    are those of the first such core. Each segment ends with a `halt`.
    """

    programs: NDArray[np.int64]
    """[segments] number of the program of each segment."""
    bounds: NDArray[np.int64]
    """[segments + 1] offset of the words of each segment."""
    segment_of_core: NDArray[np.int64]
    words: NDArray[Any]
    """WORD [words] of all segments, with parameters inserted."""
    word_class: NDArray[np.int32]
    """[words] class of each word; words of a class have equal timing properties (`word_classes`)."""
    first: NDArray[np.int64]
    """[classes] index of the first word of each class."""
    classes: NDArray[np.int64]
    """
    [classes, 8] columns as in `kernel_arrays.KIND`. A: cycles (LOCAL; MAPPED: as declared), count (LOOP, WAIT; LOOP_BY:
    the largest), bytes (PUT, LOAD, STORE; PUT_MAPPED: as declared). B: words of the body (LOOP, LOOP_BY), semaphore
    (WAIT, PUT, SIGNAL). LEAD: cycles before the first packet leaves (PUT_MAPPED). TARGET: core set (PUT, SIGNAL), else
    -1.
    """
    costs: WordCosts
    """[classes] costs of a word of each class."""
    times: NDArray[np.int64]
    """
    [words] number of executions in one launch: the product of the counts of the loops around the word; for dynamic
    loops, of the largest counts.
    """
    routes: Routes

    @property
    def base(self) -> NDArray[np.int64]:
        """[cores] index of a core's first word."""
        return self.bounds[self.segment_of_core]

    def instructions(self, decisions: Decisions | None = None) -> NDArray[np.int64]:
        """
        [cores, 9] number of instructions that each core executes, by unit and sequencer; for dynamic loops, with the
        decisions of a run, or without them the maximum.
        """
        return self._count(np.ones(len(self.classes), np.bool_), decisions)

    def mapped(self, decisions: Decisions | None = None) -> NDArray[np.int64]:
        """[cores, 8] as `instructions`, but only those whose cycles depend on values."""
        return self._count(np.isin(self.classes[:, KIND], [MAPPED, PUT_MAPPED]), decisions)[:, :8]

    def executed(self, decisions: Decisions | None = None) -> NDArray[np.int64]:
        """[classes] number of executions of the words of each class on all cores together, as in `instructions`."""
        found = np.zeros(len(self.classes), np.int64)
        for segment, times, cores in self._executions(decisions):
            low, high = self.bounds[segment : segment + 2]
            np.add.at(found, self.word_class[low:high], times * len(cores))
        return found

    def _count(self, which: NDArray[np.bool_], decisions: Decisions | None) -> NDArray[np.int64]:
        found = np.zeros((len(self.segment_of_core), 9), np.int64)
        for segment, times, cores in self._executions(decisions):
            rows = self.word_class[self.bounds[segment] : self.bounds[segment + 1]]
            found[cores] = np.bincount(self.classes[rows, UNIT], times * which[rows], 9).astype(np.int64)
        return found

    def _executions(self, decisions: Decisions | None) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """(segment, numbers of executions of its words, cores with these numbers)."""
        for segment in range(len(self.programs)):
            low, high = self.bounds[segment : segment + 2]
            cores = np.flatnonzero(self.segment_of_core == segment)
            rows = self.word_class[low:high]
            if decisions is None or not np.isin(self.classes[rows, KIND], [LOOP_BY, LEAVE]).any():
                yield segment, self.times[low:high], cores
                continue
            for core in cores.tolist():
                own = decisions.values[decisions.first[core] : decisions.first[core + 1]]
                yield segment, _follow(rows, self.classes, own), np.array([core])


def build_tables(exe: Executable, launch: Launch) -> Tables:
    """
    The tables of one launch of `exe`.

    Raises EmulationError for words that cannot be timed: unknown operations, descriptors, core sets or semaphores,
    loops that do not nest, a semaphore that two queues of a core wait for, transfers of 0 bytes.
    """
    programs, segments, of_core = _segments(exe, launch)
    bounds = np.cumsum([0, *(len(code) + 1 for code in segments)], dtype=np.int64)
    raw = np.zeros((bounds[-1], WORD.itemsize), np.uint8)
    for start, code in zip(bounds.tolist(), segments, strict=False):
        raw[start : start + len(code)] = np.ascontiguousarray(code).view(np.uint8).reshape(-1, WORD.itemsize)
    words: NDArray[Any] = raw.view(WORD)[:, 0]
    words["op"][bounds[1:] - 1] = OPCODE["halt"]
    found = classify(words, bounds, [exe.programs[int(number)].descs for number in programs])

    def segment(word: int) -> tuple[str, int, int]:
        """(program, index in it, first core) of a word."""
        number = int(np.searchsorted(bounds, word, side="right")) - 1
        core = int(np.flatnonzero(of_core == number)[0])
        return exe.programs[int(programs[number])].name, word - int(bounds[number]), core

    def where(number: int) -> str:
        name, word, _ = segment(int(found.first_of_cost[number]))
        return f"program '{name}': word {word}"

    examples = words[found.first_of_cost]
    costs = costs_by_descriptor(exe.chip, examples, found.desc, found.descs, where).take(found.cost_of)
    classes = _classes(words[found.first], costs)
    core_sets = np.ascontiguousarray(exe.core_sets, np.bool_).reshape(-1, exe.chip.cores)
    times, used, fault, word = _walk(found.of_word, classes, bounds, exe.chip.semaphores, len(core_sets))
    if fault:
        name, at, core = segment(word)
        a, b, target = (int(classes[found.of_word[word], column]) for column in (A, B, TARGET))
        message = _FAULTS[fault].format(a=a, b=b, target=target, semaphores=exe.chip.semaphores)
        raise EmulationError(message, core, name, at, MNEMONICS[int(words["op"][word])])
    routes = build_routes(exe.chip, core_sets, used[of_core])
    return Tables(programs, bounds, of_core, words, found.of_word, found.first, classes, costs, times, routes)


def _segments(exe: Executable, launch: Launch) -> tuple[NDArray[np.int64], list[NDArray[Any]], NDArray[np.int64]]:
    """Program and words of each segment, and the segment of each core."""
    programs: list[int] = []
    segments: list[NDArray[Any]] = []
    known: dict[tuple[int, bytes], int] = {}
    relevant: dict[int, NDArray[np.bool_]] = {}
    of_core = np.zeros(exe.chip.cores, np.int64)
    for core in range(exe.chip.cores):
        index, values = int(launch.program_of_core[core]), launch.params_of_core[core]
        program = exe.programs[index]
        if index not in relevant:
            relevant[index] = _relevant(program)
        matter = relevant[index]
        key = (index, values[matter].tobytes() if len(values) == len(matter) else b"")
        if key not in known:
            known[key] = len(segments)
            programs.append(index)
            segments.append(patched_words(program, values))
        of_core[core] = known[key]
    return np.array(programs, np.int64), segments, of_core


def _relevant(program: Program) -> NDArray[np.bool_]:
    """The parameters of `program` that affect cost or destination of a word: all but addresses of operands."""
    if not len(program.params):
        return np.zeros(0, np.bool_)
    at, field = program.params[:, 0], program.params[:, 1]
    inside = at < len(program.words)
    counted, declared = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
    counted[inside] = _COUNTED[program.words["op"][at[inside]]]
    declared[inside] = DEPENDS_ON_DATA[program.words["op"][at[inside]]]
    return ((field >= 4) & (field < 9)) | (counted & (field < 2)) | (declared & (field == 3))


def _classes(words: NDArray[Any], costs: WordCosts) -> NDArray[np.int64]:
    """The rows of `Tables.classes` for one word of each class."""
    ops, addr = words["op"], words["addr"].astype(np.int64)
    kind = _KIND[ops]
    sends_data = (kind == PUT) | (kind == PUT_MAPPED)
    sends = sends_data | (kind == SIGNAL)
    local = (kind == LOCAL) | (kind == MAPPED)
    rows = np.zeros((len(words), COLUMNS), np.int64)
    rows[:, KIND] = kind
    rows[:, UNIT] = np.minimum(UNIT_OF_OPCODE[ops], Unit.SEQ)
    rows[:, WAITS], rows[:, SIGNALS] = words["wait"], words["signal"]
    rows[:, A] = np.where(local, costs.cycles, np.where(_COUNTED[ops], addr[:, 0], costs.traffic))
    rows[:, B] = np.where(sends | (kind == WAIT), words["imm"], addr[:, 1])
    rows[:, LEAD] = np.where(kind == PUT_MAPPED, costs.cycles, 0)
    rows[:, TARGET] = np.where(sends, words["desc"][:, 3].astype(np.int64), -1)
    return rows


_NO_SEMAPHORE, _NO_CORE_SET, _TWO_QUEUES, _NOTHING, _LOOP_SHAPE, _LOOP_DEPTH, _TOO_MANY, _NO_LOOP = range(1, 9)
_FAULTS = {
    _NO_SEMAPHORE: "semaphore {b} does not exist: the chip has {semaphores}",
    _NO_CORE_SET: "core set {target} does not exist",
    _TWO_QUEUES: "semaphore {b} is waited for by SEND and by RECV: give each queue its own",
    _NOTHING: "it transfers no bytes: its operand in memory is missing",
    _LOOP_SHAPE: "a loop needs a count and a body of at least 1, inside the program and the outer loop",
    _LOOP_DEPTH: f"loops are nested deeper than {MAX_LOOPS}",
    _NO_LOOP: "there is no loop to leave",
    _TOO_MANY: f"more than {MAX_DYNAMIC} instructions: damaged loop count",
}


@jit
def _follow(word_class: Array, classes: Array, decisions: Array) -> Array:
    """Number of executions of each word of a (valid) segment on a core with these decisions."""
    times = np.zeros(len(word_class), np.int64)
    loops = np.zeros((MAX_LOOPS, 3), np.int64)
    depth = word = used = 0
    while True:
        times[word] += 1
        row = word_class[word]
        kind, count = classes[row, KIND], classes[row, A]
        if kind == HALT:
            return times
        word += 1
        if kind == LOOP_BY or kind == LEAVE:
            if used < len(decisions):
                count = decisions[used]
            elif kind == LEAVE:
                count = 1
            used += 1
        if kind == LEAVE and count == 0:
            loops[depth - 1, 2] = 1
            word = loops[depth - 1, 1]
        elif kind == LOOP_BY and count == 0:
            word += classes[row, B]
        elif kind == LOOP or kind == LOOP_BY:
            loops[depth, 0], loops[depth, 1], loops[depth, 2] = word, word + classes[row, B], count
            depth += 1
        while depth > 0 and word == loops[depth - 1, 1]:
            loops[depth - 1, 2] -= 1
            if loops[depth - 1, 2] > 0:
                word = loops[depth - 1, 0]
                break
            depth -= 1


@jit
def _walk(
    word_class: Array, classes: Array, bounds: Array, semaphores: int, sets: int
) -> tuple[Array, Array, int, int]:
    """
    (number of executions of each word, [segments, sets] core sets to which a segment sends, fault, word).

    The fault is 0 if there is none, else a number of `_FAULTS`.
    """
    times = np.zeros(len(word_class), np.int64)
    used = np.zeros((len(bounds) - 1, sets), np.bool_)
    waiter = np.empty(semaphores, np.int64)
    ends = np.zeros(MAX_LOOPS + 1, np.int64)
    exact, rough = np.ones(MAX_LOOPS + 1, np.int64), np.ones(MAX_LOOPS + 1)
    for segment in range(len(bounds) - 1):
        waiter[:] = -1
        level, total, halted = 0, 0.0, False
        ends[0] = bounds[segment + 1] - 1  # the last word is the implicit halt
        for word in range(bounds[segment], bounds[segment + 1]):
            while level > 0 and ends[level] <= word:
                level -= 1
            row = word_class[word]
            kind = classes[row, KIND]
            total += rough[level]
            if total > MAX_DYNAMIC:
                return times, used, _TOO_MANY, word
            times[word] = 0 if halted else exact[level]
            if kind <= MAPPED:
                continue
            a, b = classes[row, A], classes[row, B]
            if kind < LOAD and b >= semaphores:
                return times, used, _NO_SEMAPHORE, word
            if kind == WAIT:
                if waiter[b] >= 0 and waiter[b] != classes[row, UNIT]:
                    return times, used, _TWO_QUEUES, word
                waiter[b] = classes[row, UNIT]
            elif kind < LOAD:
                if classes[row, TARGET] >= sets:
                    return times, used, _NO_CORE_SET, word
                used[segment, classes[row, TARGET]] = True
            if a == 0 and (kind == PUT or kind == LOAD or kind == STORE):
                return times, used, _NOTHING, word
            if kind == HALT:
                halted = True
            elif kind == LEAVE:
                if level == 0:
                    return times, used, _NO_LOOP, word
            elif kind == LOOP or kind == LOOP_BY:
                end = word + 1 + b
                if (a < 1 and kind == LOOP) or b < 1 or end > ends[level]:
                    return times, used, _LOOP_SHAPE, word
                if level == MAX_LOOPS:
                    return times, used, _LOOP_DEPTH, word
                level += 1
                ends[level] = end
                exact[level], rough[level] = exact[level - 1] * a, rough[level - 1] * a
    return times, used, 0, 0
