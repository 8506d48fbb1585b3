"""Decoding of instructions: each distinct one is decoded once, and shared by all words and cores that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_MNEMONIC, DEPENDS_ON_DATA, MNEMONICS, Family, by_opcode
from ..executable.executable import Executable, Program
from ..executable.load import launch_code
from ..machine.costs_sparse import MappedCost
from ..machine.errors import Fault
from ..machine.expand import Code
from ..machine.memory import MAX_POINTS, Bytes, Geometry
from .semantics.base import Decoded, Instruction, Step
from .semantics.connections import combine_blocks, compact_block, connect
from .semantics.move import put, put_without_zeros, read_number
from .semantics.sparse import decode_block, encode, sparse_matmul
from .semantics.table import check_pair, decode

_NONE = 0xFFFF
_MAPPED = {
    Family.SPARSE_MATMUL: sparse_matmul,
    Family.ENCODE: encode,
    Family.DECODE: decode_block,
    Family.CONNECT: connect,
    Family.COMBINE: combine_blocks,
    Family.COMPACT: compact_block,
}
_HAS_CORE_SET: NDArray[np.bool_] = by_opcode(lambda entry: entry.core_set, np.bool_)
"""[256] whether the last descriptor field of an instruction is a core set."""


@dataclass(frozen=True)
class DecodedLaunch:
    """The decoded programs of all cores in a launch."""

    code: Code
    """All words, for the sequencer."""
    steps: list[Steps]
    """For each core its decoded program."""
    depends: NDArray[np.bool_] | None
    """[words of all cores] whether the cost depends on values; None if it never does."""


class Decoder:
    """
    Decodes words to executable steps, with a cache. Runs may use a decoder one after the other, each between `begin`
    and `end`.

    Steps refer to the memories of other cores, to which `put` writes, and to the record of costs only by lists that
    remain the same objects and are refilled for each run.
    """

    def __init__(self, exe: Executable) -> None:
        self.core_sets = exe.core_sets
        self.chip = exe.chip
        self.pending: list[MappedCost] = []
        """Costs, of those that depend on values, of the instructions executed so far (see `Recorder`)."""
        self.numbers: list[int] = []
        """Numbers that were read and not given to sequencers yet."""
        self._srams: Sequence[Bytes] = ()
        self._destinations: dict[int, list[Bytes]] = {}
        """By core set, the memories of its cores."""
        self._geometries: dict[int, tuple[list[Geometry], list[int]]] = {}
        self._numbers: dict[Geometry, int] = {}
        """By geometry, its number in keys."""
        self._known: dict[bytes, int] = {}
        """The numbers of distinct words, by keys of all that decoding depends on."""
        self._examples: list[tuple[Program, NDArray[Any], int]] = []
        """By the number of a distinct word: a program, its words, and the index of a word with this number."""
        self.decoded: list[Decoded | None] = []
        """By the number of a distinct word; None: not decoded yet."""
        self._steps: dict[int, Steps] = {}
        self._launches: dict[int, DecodedLaunch] = {}

    def begin(self, srams: Sequence[Bytes]) -> None:
        """Begin a run in which the cores have these memories."""
        self._srams = srams
        for core_set, memories in self._destinations.items():
            memories[:] = self._memories(core_set)
        self.pending.clear()
        self.numbers.clear()

    def end(self) -> None:
        """End the run: references to its memories are removed."""
        self._srams = ()
        for memories in self._destinations.values():
            memories.clear()
        self.pending.clear()

    def launch(self, exe: Executable, number: int) -> DecodedLaunch:
        """The decoded programs of a launch of `exe`, the executable that the decoder was created for."""
        found = self._launches.get(number)
        if found is None:
            launch = exe.launches[number]
            words, code = launch_code(exe, launch)
            programs = [exe.programs[int(program)] for program in launch.program_of_core]
            steps = [self.steps(program, own) for program, own in zip(programs, words, strict=True)]
            depends = DEPENDS_ON_DATA[np.concatenate([own["op"] for own in words])]
            found = self._launches[number] = DecodedLaunch(code, steps, depends if depends.any() else None)
        return found

    def descriptors(self, program: Program) -> tuple[list[Geometry], list[int]]:
        """The access descriptors of `program`, and their numbers, which are equal for equal descriptors."""
        found = self._geometries.get(id(program))
        if found is None:
            sizes = cast("list[list[int]]", program.descs["size"].tolist())
            strides = cast("list[list[int]]", program.descs["stride"].tolist())
            table = [Geometry(tuple(s), tuple(t)) for s, t in zip(sizes, strides, strict=True)]
            numbers = self._numbers
            found = self._geometries[id(program)] = table, [numbers.setdefault(one, len(numbers)) for one in table]
        return found

    def steps(self, program: Program, words: NDArray[Any]) -> Steps:
        """The steps of one core; `words` are those of `program` with the core's parameters inserted."""
        shared = self._steps.get(id(program))
        if shared is None:
            numbers = self._number(program, program.words, np.arange(len(program.words)))
            shared = self._steps[id(program)] = Steps(self, program, numbers)
        if words is program.words:
            return shared
        at, field = program.params[:, 0], program.params[:, 1]
        address = field < 4
        own = ~address
        own[address] = program.words["desc"][at[address], field[address]] == _NONE
        if not np.any(own):
            return shared
        # Words that have parameters other than memory addresses.
        changed = np.unique(at[own]).astype(np.int64)
        numbers = list(shared.numbers)
        for index, number in zip(changed.tolist(), self._number(program, words, changed), strict=True):
            numbers[index] = number
        return Steps(self, program, numbers)

    def _number(self, program: Program, words: NDArray[Any], which: NDArray[np.int64]) -> list[int]:
        """Numbers of the words `which`; words with equal numbers decode to the same step."""
        table, of_geometry = self.descriptors(program)
        some = words[which]
        op, desc = some["op"], some["desc"].astype(np.int64)
        geometry = np.append(np.array(of_geometry, np.int64), 0)[np.minimum(desc, len(table))]
        missing = desc >= len(table)
        geometry[missing] = -2 - desc[missing]  # decoding it raises an error
        geometry[desc == _NONE] = -1
        core_set = _HAS_CORE_SET[op]
        geometry[core_set, 3] = -1
        # Keys have the geometry of operands in memory, and the values of others; addresses are given at execution.
        rows = np.empty((len(some), 12), np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = op, some["dtype"], some["imm"]
        rows[:, 3] = np.where(core_set, desc[:, 3], 0)
        rows[:, 4:8], rows[:, 8:] = geometry, np.where(geometry == -1, some["addr"], 0)
        content, size = rows.tobytes(), rows.itemsize * rows.shape[1]
        known, examples, found = self._known, self._examples, list[int]()
        indices: list[int] = which.tolist()
        for position, index in enumerate(indices):
            key = content[position * size : (position + 1) * size]
            number = known.get(key)
            if number is None:
                number = known[key] = len(examples)
                examples.append((program, words, index))
                self.decoded.append(None)
            found.append(number)
        return found

    def decode(self, number: int) -> Decoded:
        """The decoded word with this number, decoded at the first call. Raises Fault if it is not valid."""
        found = self.decoded[number]
        if found is None:
            program, words, index = self._examples[number]
            word, (table, _) = words[index], self.descriptors(program)
            op, dtype = int(word["op"]), int(word["dtype"])
            raw, desc = cast("list[int]", word["addr"].tolist()), cast("list[int]", word["desc"].tolist())
            operands: list[Geometry | None] = []
            for slot, descriptor in enumerate(desc):
                if descriptor == _NONE or (slot == 3 and _HAS_CORE_SET[op]):
                    operands.append(None)
                elif descriptor < len(table):
                    operands.append(table[descriptor])
                else:
                    raise Fault(f"operand {slot} names access descriptor {descriptor}, the program has {len(table)}")
            value = [0 if geometry is not None else own for geometry, own in zip(operands, raw, strict=True)]
            first, second, third, fourth = operands
            ins = Instruction(
                MNEMONICS[op], dtype & 15, dtype >> 4, int(word["imm"]), (first, second, third, fourth),
                (value[0], value[1], value[2], value[3]),
            )  # fmt: skip
            found = self.decoded[number] = self._decode(ins, desc[3])
        return found

    def _decode(self, ins: Instruction, core_set: int) -> Decoded:
        encoded = {operand.slot for operand in BY_MNEMONIC[ins.mnemonic].operands if operand.encoded}
        for slot, geometry in enumerate(ins.operands):
            if geometry is not None and (0 in geometry.shape or (geometry.points > MAX_POINTS and slot not in encoded)):
                raise Fault(f"an operand's sizes {geometry.shape} are not possible")
        if BY_MNEMONIC[ins.mnemonic].family is Family.PUT:
            return self._put(ins, core_set)
        if ins.mnemonic == "lr":
            check_pair(ins)
            return read_number(ins, self.numbers.append)
        mapped = _MAPPED.get(BY_MNEMONIC[ins.mnemonic].family)
        if mapped is None:
            return decode(ins)
        check_pair(ins)
        return mapped(ins, self.chip, self.pending.append)

    def _put(self, ins: Instruction, core_set: int) -> Decoded:
        check_pair(ins)
        if core_set >= len(self.core_sets):
            raise Fault(f"core set {core_set} does not exist")
        destinations = self._destinations.get(core_set)
        if destinations is None:
            destinations = self._destinations[core_set] = self._memories(core_set)
        if ins.mnemonic == "put":
            return put(ins, destinations)
        return put_without_zeros(ins, destinations, self.chip, self.pending.append)

    def _memories(self, core_set: int) -> list[Bytes]:
        return [self._srams[int(core)] for core in np.flatnonzero(self.core_sets[core_set])]


class Steps:
    """The executable steps of the words of a core, each decoded when it is first executed."""

    def __init__(self, decoder: Decoder, program: Program, numbers: list[int]) -> None:
        """`numbers`: for each word, its number in the decoder."""
        self.decoder, self.program, self.numbers = decoder, program, numbers
        known = [None if decoded is None else decoded.step for decoded in decoder.decoded]
        self.run: list[Step | None] = [known[number] for number in numbers]
        """The step of each word; None: not decoded yet."""

    def known(self, index: int) -> Decoded | None:
        """The decoded word `index`, if it is decoded."""
        return self.decoder.decoded[self.numbers[index]]

    def decode(self, index: int) -> Decoded:
        """The decoded word `index`. Raises Fault if it is not valid."""
        found = self.decoder.decode(self.numbers[index])
        self.run[index] = found.step
        return found
