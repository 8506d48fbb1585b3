"""An executable's launch as flat tables: what the timing engine needs to know of every word, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dialects.coreasm.isa import DEPENDS_ON_DATA, MAX_LOOPS, MNEMONICS, NO_DESC, OPCODE, UNIT_OF_OPCODE, Unit
from .costs import WordCosts, word_costs
from .executable import Executable, Launch, Program
from .functional_errors import EmulationError
from .functional_load import patched_words
from .noc import Routes, build_routes
from .timing_kernel import HALT, LOAD, LOCAL, LOOP, MAPPED, PUT, PUT_MAPPED, SEQ, SIGNAL, STORE, WAIT

MAX_DYNAMIC = 10**11
"""Instructions that one core may execute: what is above would run for hours, and is a damaged loop count."""

_KIND_BY_NAME = {
    "halt": HALT, "loop": LOOP, "nop": SEQ, "addi": SEQ, "li": SEQ, "put": PUT, "signal": SIGNAL, "ready": SIGNAL,
    "send.wait": WAIT, "wait": WAIT, "load": LOAD, "load.gather": LOAD, "store": STORE,
}  # fmt: skip
_KIND = np.array([_KIND_BY_NAME.get(name, LOCAL) for name in MNEMONICS], np.uint8)
_KIND[DEPENDS_ON_DATA] = MAPPED
_KIND[OPCODE["put.z"]] = PUT_MAPPED
_COUNTED = np.isin(_KIND, [LOOP, WAIT])


@dataclass(frozen=True)
class Segment:
    """What a program is for the cores that run it with the same parameters, as far as time is concerned."""

    program: int
    words: NDArray[Any]
    """WORD, parameters patched in (addresses are those of the first core that uses it)."""
    costs: WordCosts
    kind: NDArray[np.uint8]
    a: NDArray[np.int64]
    """Cycles (LOCAL; MAPPED: as declared), count (LOOP, WAIT), bytes (PUT, LOAD, STORE; PUT_MAPPED: as declared)."""
    b: NDArray[np.int64]
    """Words of the body (LOOP), semaphore (WAIT, PUT, SIGNAL)."""
    lead: NDArray[np.int64]
    """Cycles before the first packet leaves (PUT_MAPPED)."""
    target: NDArray[np.int32]
    """Core set (PUT, SIGNAL), else -1."""
    times: NDArray[np.int64]
    """How often each word is executed in one launch: the product of the counts of the loops around it."""


@dataclass(frozen=True)
class Tables:
    """A launch: the distinct segments one after another, and where each core's begins."""

    segments: list[Segment]
    segment_of_core: NDArray[np.int64]
    base: NDArray[np.int64]
    """[cores] index of a core's first word in the flat arrays."""
    kind: NDArray[np.uint8]
    unit: NDArray[np.uint8]
    wait: NDArray[np.uint8]
    signal: NDArray[np.uint8]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    lead: NDArray[np.int64]
    target: NDArray[np.int32]
    routes: Routes

    def instructions(self) -> NDArray[np.int64]:
        """[cores, 9] instructions that each core executes, by unit and sequencer."""
        per_segment = np.zeros((len(self.segments), 9), np.int64)
        for row, segment in zip(per_segment, self.segments, strict=True):
            np.add.at(row, np.minimum(UNIT_OF_OPCODE[segment.words["op"]], 8).astype(np.int64), segment.times)
        return per_segment[self.segment_of_core]

    def mapped(self) -> NDArray[np.int64]:
        """[cores, 8] instructions whose cycles depend on values that each core executes, by unit."""
        per_segment = np.zeros((len(self.segments), 8), np.int64)
        for row, segment in zip(per_segment, self.segments, strict=True):
            at = np.flatnonzero((segment.kind == MAPPED) | (segment.kind == PUT_MAPPED))
            np.add.at(row, UNIT_OF_OPCODE[segment.words["op"][at]].astype(np.int64), segment.times[at])
        return per_segment[self.segment_of_core]


def build_tables(exe: Executable, launch: Launch) -> Tables:
    """
    The tables of one launch of `exe`.

    Raises EmulationError for words that cannot be timed: unknown operations, descriptors, core sets or semaphores,
    loops that do not nest, a semaphore that two queues of a core wait for.
    """
    segments: list[Segment] = []
    known: dict[tuple[int, bytes], int] = {}
    of_core = np.zeros(exe.chip.cores, np.int64)
    plain: dict[int, WordCosts] = {}
    for core in range(exe.chip.cores):
        index, values = int(launch.program_of_core[core]), launch.params_of_core[core]
        program = exe.programs[index]
        relevant = _relevant(program)
        key = (index, values[relevant].tobytes() if len(values) == len(relevant) else b"")
        if key not in known:
            words = patched_words(program, values)
            if index not in plain:
                plain[index] = word_costs(exe.chip, program.words, program.descs, f"program '{program.name}'")
            costs = _patched_costs(exe, program, words, plain[index], relevant)
            known[key] = len(segments)
            segments.append(_segment(exe, index, words, costs, core))
        of_core[core] = known[key]
    lengths = np.array([len(s.words) + 1 for s in segments], np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)[:-1]])
    base = starts[of_core]
    core_sets = np.ascontiguousarray(exe.core_sets, np.bool_).reshape(-1, exe.chip.cores)
    used = np.zeros((exe.chip.cores, len(core_sets)), np.bool_)
    for number, segment in enumerate(segments):
        sets = np.unique(segment.target[segment.target >= 0])
        used[np.ix_(of_core == number, sets)] = True

    def flat(column: str, fill: int) -> NDArray[Any]:
        pieces: list[NDArray[Any]] = []
        for s in segments:
            values = s.words[column] if column in ("wait", "signal") else getattr(s, column)
            pieces += [values, np.full(1, fill, values.dtype)]  # an implicit halt after the last word
        return np.ascontiguousarray(np.concatenate(pieces))

    units = [np.append(UNIT_OF_OPCODE[s.words["op"]], Unit.SEQ).astype(np.uint8) for s in segments]
    return Tables(
        segments, of_core, base, flat("kind", HALT), np.concatenate(units), flat("wait", 0), flat("signal", 0),
        flat("a", 0), flat("b", 0), flat("lead", 0), flat("target", -1), build_routes(exe.chip, core_sets, used),
    )  # fmt: skip


def _relevant(program: Program) -> NDArray[np.bool_]:
    """Which parameters of `program` change what a word costs or whom it reaches: all but addresses of operands."""
    at, field = program.params[:, 0], program.params[:, 1]
    inside = at < len(program.words)
    counted, declared = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
    counted[inside] = _COUNTED[program.words["op"][at[inside]]]
    declared[inside] = DEPENDS_ON_DATA[program.words["op"][at[inside]]]
    return ((field >= 4) & (field < 9)) | (counted & (field < 2)) | (declared & (field == 3))


def _patched_costs(
    exe: Executable, program: Program, words: NDArray[Any], plain: WordCosts, relevant: NDArray[np.bool_]
) -> WordCosts:
    changed = np.unique(program.params[relevant, 0]).astype(np.int64)
    if not len(changed):
        return plain
    new = word_costs(exe.chip, words[changed], program.descs, f"program '{program.name}' (parameters)")
    patched: list[NDArray[np.int64]] = []
    for name in ("cycles", "traffic", "macs", "vpu_ops", "sram_bytes"):
        column = getattr(plain, name).copy()
        column[changed] = getattr(new, name)
        patched.append(column)
    return WordCosts(*patched)


def _segment(exe: Executable, program: int, words: NDArray[Any], costs: WordCosts, core: int) -> Segment:
    ops, addr, imm = words["op"], words["addr"].astype(np.int64), words["imm"].astype(np.int64)
    kind, name = _KIND[ops], exe.programs[program].name
    a = np.where((kind == LOCAL) | (kind == MAPPED), costs.cycles, costs.traffic)
    counted = _COUNTED[ops]
    a[counted] = addr[counted, 0]
    sends_data = (kind == PUT) | (kind == PUT_MAPPED)
    lead = np.where(kind == PUT_MAPPED, costs.cycles, 0)
    named = sends_data | (kind == SIGNAL) | (kind == WAIT)
    b = np.where(named, imm, addr[:, 1])
    sends = sends_data | (kind == SIGNAL)
    target = np.where(sends, words["desc"][:, 3].astype(np.int32), np.int32(-1)).astype(np.int32)

    def fail(word: int, what: str) -> EmulationError:
        return EmulationError(what, core, name, int(word), MNEMONICS[int(ops[word])])

    if (bad := np.flatnonzero(named & (b >= exe.chip.semaphores))).size:
        raise fail(bad[0], f"semaphore {b[bad[0]]} does not exist: the chip has {exe.chip.semaphores}")
    if (bad := np.flatnonzero(sends & ((target >= len(exe.core_sets)) | (target == NO_DESC)))).size:
        raise fail(bad[0], f"core set {target[bad[0]]} does not exist")
    by_send, by_recv = (set(b[ops == OPCODE[w]].tolist()) for w in ("send.wait", "wait"))
    for semaphore in sorted(by_send & by_recv):
        word = int(np.flatnonzero((kind == WAIT) & (b == semaphore))[0])
        raise fail(word, f"semaphore {semaphore} is waited for by SEND and by RECV: give each queue its own")
    times = np.ones(len(words), np.float64)
    ends: list[int] = []
    for word in np.flatnonzero(kind == LOOP).tolist():
        while ends and ends[-1] <= word:
            ends.pop()
        end = word + 1 + int(b[word])
        if a[word] < 1 or b[word] < 1 or end > (ends[-1] if ends else len(words)):
            raise fail(word, "a loop needs a count and a body of at least 1, inside the program and the outer loop")
        ends.append(end)
        if len(ends) > MAX_LOOPS:
            raise fail(word, f"loops are nested deeper than {MAX_LOOPS}")
        times[word + 1 : end] *= a[word]
    if times.sum() > MAX_DYNAMIC:
        raise EmulationError(f"core {core}, program '{name}': more than {MAX_DYNAMIC} instructions: damaged loop count")
    halts = np.flatnonzero(kind == HALT)
    if len(halts) and halts[0] < len(words) - 1:
        times[halts[0] + 1 :] = 0
    return Segment(program, words, costs, kind, a, b, lead, target, times.astype(np.int64))
