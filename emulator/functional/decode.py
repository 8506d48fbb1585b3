"""Decoding: each distinct instruction once, shared by all words and cores that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import BY_MNEMONIC, MNEMONICS, Family
from ..executable.executable import Executable, Program
from ..machine.errors import Fault
from ..machine.mapped_work import Recorder
from ..machine.memory import MAX_POINTS, Bytes, Geometry
from .semantics.base import Decoded, Instruction, Step
from .semantics.connections import combine_blocks, compact_block, connect
from .semantics.move import put, put_without_zeros
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
_CORE_SETS = frozenset(name for name, entry in BY_MNEMONIC.items() if entry.core_set)
"""Instructions whose last descriptor field names a core set."""
_Columns: TypeAlias = tuple[int, int, int, list[int], list[int]]
"""Operation code, types, imm, address fields and descriptor fields of one word."""


class Decoder:
    """Turns words into steps, with a cache. `srams` are the memories that `put` writes to."""

    def __init__(self, exe: Executable, srams: Sequence[Bytes]) -> None:
        self.core_sets = exe.core_sets
        self.srams = srams
        self.chip = exe.chip
        self.recorder = Recorder()
        """Records the costs of instructions that depend on values."""
        self._geometries: dict[int, list[Geometry]] = {}
        self._decoded: dict[tuple[Any, ...], Decoded] = {}
        self._steps: dict[int, Steps] = {}

    def descriptors(self, program: Program) -> list[Geometry]:
        """The access descriptors of `program`."""
        found = self._geometries.get(id(program))
        if found is None:
            sizes = cast("list[list[int]]", program.descs["size"].tolist())
            strides = cast("list[list[int]]", program.descs["stride"].tolist())
            found = [Geometry(tuple(s), tuple(t)) for s, t in zip(sizes, strides, strict=True)]
            self._geometries[id(program)] = found
        return found

    def steps(self, program: Program, words: NDArray[Any]) -> Steps:
        """What the words of one core run; `words` are those of `program` with the core's parameters patched in."""
        shared = self._steps.get(id(program))
        if shared is None:
            shared = self._steps[id(program)] = Steps(self, program, program.words, [None] * len(program.words))
        if words is program.words:
            return shared
        at, field = program.params[:, 0], program.params[:, 1]
        address = field < 4
        own = ~address
        own[address] = program.words["desc"][at[address], field[address]] == _NONE
        if not np.any(own):
            return shared
        return Steps(self, program, words, list(shared.known), shared, frozenset(cast("list[int]", at[own].tolist())))

    def decode(self, ins: Instruction, core_set: int) -> Decoded:
        """Decode `ins`, with a cache. Raises Fault if it is not valid."""
        key = (ins, core_set)
        known = self._decoded.get(key)
        if known is None:
            encoded = {operand.slot for operand in BY_MNEMONIC[ins.mnemonic].operands if operand.encoded}
            for slot, geometry in enumerate(ins.operands):
                if geometry is not None and (
                    0 in geometry.shape or (geometry.points > MAX_POINTS and slot not in encoded)
                ):
                    raise Fault(f"an operand's sizes {geometry.shape} are not possible")
            known = self._decode(ins, core_set)
            self._decoded[key] = known
        return known

    def _decode(self, ins: Instruction, core_set: int) -> Decoded:
        if BY_MNEMONIC[ins.mnemonic].family is Family.PUT:
            return self._put(ins, core_set)
        mapped = _MAPPED.get(BY_MNEMONIC[ins.mnemonic].family)
        if mapped is None:
            return decode(ins)
        check_pair(ins)
        return mapped(ins, self.chip, self.recorder.pending.append)

    def _put(self, ins: Instruction, core_set: int) -> Decoded:
        check_pair(ins)
        if core_set >= len(self.core_sets):
            raise Fault(f"core set {core_set} does not exist")
        destinations = [self.srams[int(core)] for core in np.flatnonzero(self.core_sets[core_set])]
        if ins.mnemonic == "put":
            return put(ins, destinations)
        return put_without_zeros(ins, destinations, self.chip, self.recorder.pending.append)


class Steps:
    """The decoded words of a core, filled at their first execution; cores share equal ones."""

    def __init__(
        self,
        decoder: Decoder,
        program: Program,
        words: NDArray[Any],
        known: list[Decoded | None],
        shared: Steps | None = None,
        own: frozenset[int] = frozenset(),
    ) -> None:
        self.decoder = decoder
        self.program = program
        self.known = known
        self.run: list[Step | None] = [None if d is None else d.step for d in known]
        self._shared = shared
        self._own = own
        """Words with parameters other than memory addresses."""
        self._columns: tuple[list[Any], ...] | None = None
        self._words = words

    def decode(self, index: int) -> Decoded:
        """The decoded word `index`. Raises Fault if it is not valid."""
        found = self.known[index]
        if found is None:
            if self._shared is not None and index not in self._own:
                found = self._shared.decode(index)
            else:
                found = self.decoder.decode(*self.instruction(index))
            self.known[index] = found
            self.run[index] = found.step
        return found

    def instruction(self, index: int) -> tuple[Instruction, int]:
        """Word `index` with its descriptors, and its core set (0xFFFF: none)."""
        if self._columns is None:
            w = self._words
            self._columns = tuple(w[name].tolist() for name in ("op", "dtype", "imm", "addr", "desc"))
        op, dtype, imm, raw, desc = cast("_Columns", tuple(column[index] for column in self._columns))
        table = self.decoder.descriptors(self.program)
        mnemonic = MNEMONICS[op]
        operands: list[Geometry | None] = []
        for slot in range(4):
            number = desc[slot]
            if number == _NONE or (slot == 3 and mnemonic in _CORE_SETS):
                operands.append(None)
            elif number < len(table):
                operands.append(table[number])
            else:
                raise Fault(f"operand {slot} names access descriptor {number}, the program has {len(table)}")
        # addresses of operands in memory come with each execution; only immediates belong to the instruction
        value = [0 if geometry is not None else v for geometry, v in zip(operands, raw, strict=True)]
        first, second, third, fourth = operands
        ins = Instruction(
            mnemonic, dtype & 15, dtype >> 4, imm, (first, second, third, fourth),
            (value[0], value[1], value[2], value[3]),
        )  # fmt: skip
        return ins, desc[3]
