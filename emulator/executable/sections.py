"""Encoders and decoders of the sections of an executable; decoders check bounds."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import DESC, WORD
from ...support.errors import InputError
from .executable import ROLES, Executable, Launch, Program, TensorInfo
from .shared_rows import (
    differences,
    from_positions,
    number_type,
    runs_of,
    share_rows,
    undo_differences,
    with_own_numbers,
    with_shared_numbers,
)

_PROGRAM = struct.Struct("<IIII")
_TENSOR = struct.Struct("<BBHIqqq")
_ALIGN = 4


class Cursor:
    """Reads a section sequentially; each method raises InputError beyond the end of the section."""

    def __init__(self, data: memoryview, part: str, location: str) -> None:
        self.data, self.part, self.location, self.at = data, part, location, 0

    def fail(self) -> InputError:
        """The error for invalid contents."""
        return InputError(f"{self.location} is damaged: {self.part} is truncated or inconsistent")

    def take(self, count: int) -> memoryview:
        """The next `count` bytes."""
        if count < 0 or self.at + count > len(self.data):
            raise self.fail()
        self.at += count
        return self.data[self.at - count : self.at]

    def array(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        """The next `count` elements, sharing the section's memory."""
        return np.frombuffer(self.take(dtype.itemsize * count), dtype)

    def number(self) -> int:
        """The next u32."""
        return int.from_bytes(self.take(4), "little")

    def text(self, count: int) -> str:
        """The next `count` bytes as UTF-8."""
        try:
            return str(self.take(count), "utf-8")
        except UnicodeDecodeError:
            raise self.fail() from None

    def align(self, to: int) -> None:
        """Skip padding up to a multiple of `to` bytes."""
        self.take(-self.at % to)

    def end(self) -> None:
        """Check that the end of the section is reached."""
        if self.at != len(self.data):
            raise self.fail()


_U4, _I4 = np.dtype("<u4"), np.dtype("<i4")


@dataclass(frozen=True)
class ProgramTables:
    """The tables that the programs of an executable share: the distinct words and access descriptors."""

    words: NDArray[Any]
    """WORD [distinct words]"""
    descs: NDArray[Any]
    """DESC [distinct descriptors]"""

    @staticmethod
    def read(words: memoryview, descs: memoryview, location: str) -> ProgramTables:
        """The tables in two sections."""
        tables: list[NDArray[Any]] = []
        for data, dtype in ((words, WORD), (descs, DESC)):
            if len(data) % dtype.itemsize:
                raise Cursor(data, "the table of words or of access descriptors", location).fail()
            tables.append(from_positions(data, dtype))
        words_table, descs_table = tables
        return ProgramTables(words_table, descs_table)

    def programs(self, data: memoryview, location: str) -> list[Program]:
        """The programs as encoded by `encode_programs`; their sources are in another section."""
        cursor = Cursor(data, "a program", location)
        found = [self._program(cursor) for _ in range(cursor.number())]
        cursor.end()
        return found

    def _program(self, cursor: Cursor) -> Program:
        words, descs, params, name_bytes = _PROGRAM.unpack(cursor.take(_PROGRAM.size))
        name = cursor.text(name_bytes)
        found: list[NDArray[Any]] = []
        for table, count in ((self.words, words), (self.descs, descs)):
            cursor.align(_ALIGN)
            numbers = undo_differences(cursor.array(number_type(len(table)), count))
            if (numbers >= len(table)).any():
                raise cursor.fail()
            found.append(numbers)
        cursor.align(_ALIGN)
        own = with_own_numbers(self.words[found[0]], found[1])
        if own is None:
            raise cursor.fail()
        return Program(name, own, self.descs[found[1]], cursor.array(_U4, 2 * params).reshape(-1, 2))


def encode_programs(programs: Sequence[Program]) -> tuple[ProgramTables, bytes]:
    """
    The tables, and the section of all programs: their number, then for each counts and name, and, each aligned, the
    indices of its words and of its descriptors, each as the difference from the previous one, and parameters.
    """
    descs, descs_of = share_rows([program.descs for program in programs], DESC)
    shared = [with_shared_numbers(one.words, numbers) for one, numbers in zip(programs, descs_of, strict=True)]
    words, words_of = share_rows(shared, WORD)
    chunks = [struct.pack("<I", len(programs))]
    for program, *numbers in zip(programs, words_of, descs_of, strict=True):
        name = program.name.encode()
        head = _PROGRAM.pack(len(program.words), len(program.descs), len(program.params), len(name)) + name
        differing = [differences(part).tobytes() for part in numbers]
        chunks.extend(one + bytes(-len(one) % _ALIGN) for one in (head, *differing))
        chunks.append(np.ascontiguousarray(program.params, _U4).tobytes())
    return ProgramTables(words, descs), b"".join(chunks)


@dataclass(frozen=True)
class Part:
    """A section that holds one part of an executable."""

    name: str
    encode: Callable[[Executable], bytes]
    decode: Callable[[memoryview, Executable, str], None]
    """Function that sets the attributes of this part in the executable."""


def _encode_controller(exe: Executable) -> bytes:
    return exe.controller.tobytes()


def _decode_controller(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the controller's program", location)
    exe.controller = cursor.array(WORD, len(data) // WORD.itemsize)
    cursor.end()


def _encode_core_sets(exe: Executable) -> bytes:
    return struct.pack("<I", len(exe.core_sets)) + np.packbits(exe.core_sets, axis=1, bitorder="little").tobytes()


def _decode_core_sets(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the table of core sets", location)
    count = cursor.number()
    row = (exe.chip.cores + 7) // 8
    bits = cursor.array(np.dtype("u1"), count * row).reshape(count, row)
    cursor.end()
    exe.core_sets = np.unpackbits(bits, axis=1, count=exe.chip.cores, bitorder="little").astype(np.bool_)


def _encode_launches(exe: Executable) -> bytes:
    chunks = [struct.pack("<I", len(exe.launches))]
    for launch in exe.launches:
        chunks.append(np.ascontiguousarray(launch.program_of_core, _I4).tobytes())
        chunks.extend(np.ascontiguousarray(values, _U4).tobytes() for values in launch.params_of_core)
    return b"".join(chunks)


def _decode_launches(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the table of launches", location)
    count = [len(program.params) for program in exe.programs]
    for _ in range(cursor.number()):
        programs = cursor.array(_I4, exe.chip.cores)
        numbers: list[int] = programs.tolist()
        if not all(0 <= n < len(count) for n in numbers):
            raise cursor.fail()
        exe.launches.append(Launch(programs, [cursor.array(_U4, count[n]) for n in numbers]))
    cursor.end()


def _encode_tensors(exe: Executable) -> bytes:
    chunks = [struct.pack("<I", len(exe.tensors))]
    for t in exe.tensors:
        name = t.name.encode()
        role, rank = ROLES.index(t.role), len(t.shape)
        chunks.append(_TENSOR.pack(role, t.dtype, rank, len(name), t.dram_address, t.nbytes, t.host_address))
        chunks.append(struct.pack(f"<{rank}q", *t.shape))
        chunks.append(name)
    return b"".join(chunks)


def _decode_tensors(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the tensor table", location)
    for _ in range(cursor.number()):
        fixed: tuple[int, ...] = _TENSOR.unpack(cursor.take(_TENSOR.size))
        role, dtype, rank, name_bytes, dram, nbytes, host = fixed
        shape: tuple[int, ...] = tuple(struct.unpack(f"<{rank}q", cursor.take(8 * rank)))
        if role >= len(ROLES):
            raise cursor.fail()
        exe.tensors.append(TensorInfo(cursor.text(name_bytes), ROLES[role], dtype, shape, dram, nbytes, host))
    cursor.end()


def _encode_sources(exe: Executable) -> bytes:
    runs = [runs_of(np.ascontiguousarray(p.sources, _U4)) for p in exe.programs]
    return b"".join(struct.pack("<I", len(one)) + one.tobytes() for one in runs)


def _decode_sources(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the table of sources", location)
    for program in exe.programs:
        runs = cursor.array(_U4, 2 * cursor.number()).reshape(-1, 2)
        if int(runs[:, 1].sum(dtype=np.uint64)) != len(program.words):
            raise cursor.fail()
        program.sources = np.repeat(runs[:, 0], runs[:, 1])
    cursor.end()


def _encode_names(exe: Executable) -> bytes:
    names = [name.encode() for name in exe.source_names]
    lengths = np.array([len(name) for name in names], _U4).tobytes()
    return struct.pack("<I", len(names)) + lengths + b"".join(names)


def _decode_names(data: memoryview, exe: Executable, location: str) -> None:
    cursor = Cursor(data, "the table of source names", location)
    lengths: list[int] = cursor.array(_U4, cursor.number()).tolist()
    exe.source_names = [cursor.text(length) for length in lengths]
    cursor.end()


PARTS = (
    Part(".controller", _encode_controller, _decode_controller),
    Part(".core_sets", _encode_core_sets, _decode_core_sets),
    Part(".launches", _encode_launches, _decode_launches),
    Part(".tensors", _encode_tensors, _decode_tensors),
    Part(".debug.sources", _encode_sources, _decode_sources),
    Part(".debug.names", _encode_names, _decode_names),
)
"""The parts in the order of the file and of decoding: later parts may depend on earlier ones."""
