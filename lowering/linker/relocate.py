"""Relocation of the machine code of a launch: DRAM addresses of segments, and core sets in the common table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import NO_SOURCE
from ...dialects.coreasm.isa import by_opcode
from ...emulator.executable.executable import Launch, Program
from ..launch.dram_segments import SEGMENT_BITS
from .wide_words import HIGH_HALF

_LOW = np.int64(0xFFFF_FFFF)
_WITHIN = np.int64((1 << SEGMENT_BITS) - 1)
_SET_FIELD = 3
_HAS_CORE_SET: NDArray[np.bool_] = by_opcode(lambda i: i.core_set, np.bool_)


@dataclass(frozen=True)
class LaunchCode:
    """The position-independent machine code of one launch before it is linked."""

    programs: list[Program]
    """Program 0 is that of idle cores."""
    launch: Launch
    core_sets: NDArray[np.bool_]
    """[sets, cores]"""


@dataclass(frozen=True)
class Relocation:
    """
    The result of linking for a launch: the addresses of its segments, and its indices into the executable's tables.
    """

    segments: NDArray[np.int64]
    """DRAM address of each segment."""
    core_sets: NDArray[np.int64]
    """Number of each core set in the common table."""
    first_source: int
    """Index of its first source name in the executable's table."""


def relocated(code: LaunchCode, to: Relocation) -> tuple[list[Program], Launch]:
    """The relocated programs, and the launch with indices into these. `code` is not changed."""
    programs: list[Program] = []
    params: list[NDArray[np.uint32]] = list(code.launch.params_of_core)
    for number, program in enumerate(code.programs):
        cores: list[int] = np.flatnonzero(code.launch.program_of_core == number).tolist()
        rows = [params[core] for core in cores]
        shape = (len(cores), len(program.params))
        moved, values = _program(program, np.array(rows, np.uint32).reshape(shape), to)
        programs.append(moved)
        for core, row in zip(cores, values, strict=True):
            params[core] = row
    return programs, Launch(code.launch.program_of_core, params)


def _program(program: Program, values: NDArray[np.uint32], to: Relocation) -> tuple[Program, NDArray[np.uint32]]:
    words = program.words.copy()
    relocating = _RelocatedProgram(words, program.params, values.copy(), [])
    halves = HIGH_HALF[words["op"]]
    for slot in range(4):
        rows = np.flatnonzero(halves[:, slot] >= 0)
        for high in np.unique(halves[rows, slot]).tolist():
            relocating.addresses(rows[halves[rows, slot] == high], slot, int(high), to.segments)
    relocating.sets(np.flatnonzero(_HAS_CORE_SET[words["op"]]), to.core_sets)
    sources = program.sources.copy()
    sources[sources != NO_SOURCE] += np.uint32(to.first_source)
    params, values = relocating.parameters()
    return Program(program.name, words, program.descs, params, sources), values


@dataclass
class _RelocatedProgram:
    """
    The words of a program, and its parameters with their values [cores, params], while they are relocated in place.
    """

    words: NDArray[Any]
    params: NDArray[np.uint32]
    values: NDArray[np.uint32]
    added: list[tuple[int, int, NDArray[np.int64]]]
    """Parameters that relocation adds, since an address differs between cores only afterwards: word, field, values."""

    def _column(self, field: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """[rows] the parameter that sets this field, or -1."""
        found = np.full(len(self.words), -1, np.int64)
        which = np.flatnonzero(self.params[:, 1] == field)
        found[self.params[which, 0]] = which
        return found[rows]

    def addresses(self, rows: NDArray[np.int64], slot: int, high: int, segments: NDArray[np.int64]) -> None:
        """
        Relocate the DRAM operands of words `rows`, whose low half is in address field `slot`, the upper half in `high`.
        """
        columns = {field: self._column(field, rows) for field in (slot, high)}
        fixed = (columns[slot] < 0) & (columns[high] < 0)
        plain = rows[fixed]
        moved = _relocated_address(self.words["addr"][plain, slot], self.words["addr"][plain, high], segments)
        self.words["addr"][plain, slot] = moved & _LOW
        self.words["addr"][plain, high] = moved >> 32
        rows = rows[~fixed]
        if not len(rows):
            return
        now: dict[int, NDArray[np.int64]] = {}
        for field in (slot, high):
            column = columns[field][~fixed]
            constant = np.tile(self.words["addr"][rows, field].astype(np.int64), (len(self.values), 1))
            now[field] = np.where(column >= 0, self.values[:, np.maximum(column, 0)].astype(np.int64), constant)
        moved = _relocated_address(now[slot], now[high], segments)
        for field, part in ((slot, moved & _LOW), (high, moved >> 32)):
            column = columns[field][~fixed]
            patched = column >= 0
            self.values[:, column[patched]] = part[:, patched]
            self.words["addr"][rows, field] = part[0]
            differs = np.flatnonzero(~patched & (part != part[0]).any(axis=0))
            self.added += [(int(rows[at]), field, part[:, at]) for at in differs.tolist()]

    def sets(self, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Renumber the core sets of words `rows`."""
        column = self._column(4 + _SET_FIELD, rows)
        plain = rows[column < 0]
        self.words["desc"][plain, _SET_FIELD] = numbers[self.words["desc"][plain, _SET_FIELD]]
        patched = column >= 0
        if patched.any():
            self.values[:, column[patched]] = numbers[self.values[:, column[patched]]]
            self.words["desc"][rows[patched], _SET_FIELD] = self.values[0, column[patched]]

    def parameters(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """All parameters, and their values."""
        if not self.added:
            return self.params, self.values
        addresses = np.array([(word, field) for word, field, _ in self.added], np.uint32)
        values = np.stack([column for _, _, column in self.added], axis=1).astype(np.uint32)
        return np.concatenate([self.params, addresses]), np.concatenate([self.values, values], axis=1)


def _relocated_address(low: NDArray[Any], high: NDArray[Any], segments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Relocated addresses, from the halves of addresses in segments."""
    address = low.astype(np.int64) | high.astype(np.int64) << 32
    return segments[address >> SEGMENT_BITS] + (address & _WITHIN)
