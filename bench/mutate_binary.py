"""
Random defects in a compiled program: an operand's address, a stride, the order of two dependent instructions.

An emulator that executes the program reveals each defect: the outputs change, or the run ends in an error. If neither
happens, `judge_mutation.py` determines the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from meshloom.dialects.coreasm.encoding import IS_FLOAT, MAX_DIMS, NO_DESC, TYPES
from meshloom.dialects.coreasm.instruction import Instruction, Operand, Space, TypeOf
from meshloom.dialects.coreasm.isa import BY_CODE, INSTRUCTIONS, Unit
from meshloom.emulator.executable.executable import Executable, Launch, Program
from meshloom.emulator.executable.load import patched_words
from numpy.typing import NDArray

CONTROL = tuple(one.mnemonic for one in INSTRUCTIONS if one.unit is Unit.SEQ)
TRIES = 10_000


@dataclass(frozen=True)
class Mutation:
    """One defect and the executable that has it."""

    kind: str
    program: int
    words: tuple[int, ...]
    what: str
    executable: Executable


class Mutator:
    """Makes seeded mutations of the instructions that the first launch of an executable runs."""

    def __init__(self, exe: Executable, seed: int) -> None:
        self.exe = exe
        self.random = np.random.default_rng(seed)
        self.kinds: tuple[Callable[[], Mutation | None], ...] = (self.address, self.stride, self.order)
        used: list[int] = np.unique(exe.launches[0].program_of_core).tolist()
        self.live = [
            (number, word)
            for number in used
            for word, op in enumerate(exe.programs[number].words["op"].tolist())
            if BY_CODE[op].mnemonic not in CONTROL
        ]

    def next(self, kind: int) -> Mutation:
        """A mutation of kind 0 (address), 1 (stride) or 2 (order) at a random position."""
        for _ in range(TRIES):
            if (found := self.kinds[kind]()) is not None:
                return found
        raise ValueError(f"the executable has no place for a mutation of kind {kind}")

    # ---- the three kinds ----

    def address(self) -> Mutation | None:
        """One bit of an operand's address flipped."""
        number, word, operand = self._operand()
        if operand is None:
            return None
        memory = self.exe.dram_bytes_used if operand.space is Space.DRAM else self.exe.chip.sram_bytes
        flip = 1 << int(self.random.integers(max(memory - 1, 1).bit_length()))
        program = _copy(self.exe.programs[number])
        program.words["addr"][word, operand.slot] ^= flip
        patch = (program.params[:, 0] == word) & (program.params[:, 1] == operand.slot)
        exe = self._with(number, program, lambda values: np.where(patch, values ^ np.uint32(flip), values))
        return Mutation("address", number, (word,), f"operand {operand.name}: address ^ {flip:#x}", exe)

    def stride(self) -> Mutation | None:
        """The stride of one dimension with more than one element changed."""
        number, word, operand = self._operand()
        if operand is None:
            return None
        program = _copy(self.exe.programs[number])
        if any(w == word and field == 4 + operand.slot for w, field in program.params.tolist()):
            return None
        desc = program.descs[program.words["desc"][word, operand.slot]].copy()
        dims = np.flatnonzero(desc["size"] > 1)
        if not len(dims):
            return None
        dim = int(self.random.choice(dims))
        old = int(desc["stride"][dim])
        step = element_bytes(program.words[word], operand)
        new = int(self.random.choice([n for n in (old + step, old - step, -old, 2 * old, 0) if n != old]))
        desc["stride"][dim] = new
        program.words["desc"][word, operand.slot] = len(program.descs)
        program.descs = np.append(program.descs, desc)
        what = f"operand {operand.name}: stride of dimension {dim} from {old} to {new}"
        return Mutation("stride", number, (word,), what, self._with(number, program))

    def order(self) -> Mutation | None:
        """Two successive instructions of one queue swapped."""
        number, first = self._word()
        program = self.exe.programs[number]
        second = next_in_queue(program, first)
        if second is None or not dependent(self._patched(number), program, first, second):
            return None
        program = _copy(program)
        program.words[[first, second]] = program.words[[second, first]]
        program.sources[[first, second]] = program.sources[[second, first]]
        at = program.params[:, 0]
        program.params[:, 0] = np.where(at == first, second, np.where(at == second, first, at))
        return Mutation("order", number, (first, second), "swapped", self._with(number, program))

    # ---- places ----

    def _word(self) -> tuple[int, int]:
        return self.live[int(self.random.integers(len(self.live)))]

    def _operand(self) -> tuple[int, int, Operand | None]:
        """A random operand in memory of a random live instruction; None if it has none."""
        number, word = self._word()
        w = self.exe.programs[number].words[word]
        operands = memory_operands(w)
        return number, word, operands[int(self.random.integers(len(operands)))] if operands else None

    def _patched(self, number: int) -> NDArray[Any]:
        """The words of a program with the parameters of its first core."""
        launch = self.exe.launches[0]
        core = int(np.flatnonzero(launch.program_of_core == number)[0])
        return patched_words(self.exe.programs[number], launch.params_of_core[core])

    def _with(
        self, number: int, program: Program, patch: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    ) -> Executable:
        """The executable with another program; `patch` changes the parameters of the cores that run it."""
        programs = list(self.exe.programs)
        programs[number] = program
        launches: list[Launch] = []
        for launch in self.exe.launches:
            mine = (launch.program_of_core == number).tolist()
            values = [
                patch(v).astype(np.uint32) if patch is not None and own else v
                for v, own in zip(launch.params_of_core, mine, strict=True)
            ]
            launches.append(Launch(launch.program_of_core, values))
        return replace(self.exe, programs=programs, launches=launches)


def _copy(program: Program) -> Program:
    return Program(
        program.name, program.words.copy(), program.descs.copy(), program.params.copy(), program.sources.copy()
    )


def memory_operands(word: np.void) -> list[Operand]:
    """The operands of a word that are in memory (not immediate)."""
    operands = BY_CODE[int(word["op"])].operands
    return [o for o in operands if int(word["desc"][o.slot]) != NO_DESC]


def element_bytes(word: np.void, operand: Operand) -> int:
    """Bytes of an element of an operand."""
    low, high = int(word["dtype"]) & 15, int(word["dtype"]) >> 4
    if operand.type is TypeOf.BOOL:
        return 1
    if operand.type is TypeOf.F32:
        return 4
    return TYPES[low if operand.type is TypeOf.SOURCE else high].bytes


def next_in_queue(program: Program, word: int) -> int | None:
    """The next word of the same queue; None where a loop begins or ends or a register changes before it."""
    ops: list[int] = program.words["op"].tolist()
    ends = {at + 1 + int(program.words["addr"][at, 1]) for at, op in enumerate(ops) if BY_CODE[op].has_body}
    for at in range(word + 1, len(ops)):
        if at in ends or BY_CODE[ops[at]].unit == Unit.SEQ:
            return None
        if BY_CODE[ops[at]].unit == BY_CODE[ops[word]].unit:
            return at
    return None


def dependent(words: NDArray[Any], program: Program, first: int, second: int) -> bool:
    """
    Whether the order of two words matters: one writes bytes that the other reads or writes.

    The order of two sums into the same bytes changes the rounding only. Addresses with different registers cannot be
    compared.
    """
    a, b = words[first], words[second]
    if _sums(a) and _sums(b) and int(a["addr"][0]) == int(b["addr"][0]):
        return False
    for x in memory_operands(a):
        for y in memory_operands(b):
            if not (x.writes or y.writes) or x.space is not y.space or x.space is Space.REMOTE:
                continue
            if register(a, x) == register(b, y) and _overlap(bytes_of(a, x, program), bytes_of(b, y, program)):
                return True
    return False


def register(word: np.void, operand: Operand) -> int:
    """The register that is added to an operand's address."""
    return int(word["regs"]) >> (4 * operand.slot) & 15


def bytes_of(word: np.void, operand: Operand, program: Program) -> NDArray[np.int64]:
    """The addresses of all bytes of an operand, without the value of its register."""
    desc = program.descs[int(word["desc"][operand.slot])]
    address = np.asarray([int(word["addr"][operand.slot])])
    for dim in range(MAX_DIMS):
        steps = np.arange(int(desc["size"][dim])) * int(desc["stride"][dim])
        address = np.add.outer(address, steps).reshape(-1)
    return np.add.outer(np.unique(address), np.arange(element_bytes(word, operand))).reshape(-1)


def _overlap(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    return bool(a.min() <= b.max() and b.min() <= a.max()) and len(np.intersect1d(a, b)) > 0


def _sums(word: np.void) -> bool:
    instruction: Instruction = BY_CODE[int(word["op"])]
    return instruction.accumulates and bool(IS_FLOAT[int(word["dtype"]) >> 4])
