"""Assembly: a module of the `coreasm` dialect becomes an executable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..chips import Chip
from ..dialects.coreasm.block_text import location_of, text_of
from ..dialects.coreasm.code import Code
from ..dialects.coreasm.encoding import TYPE_BY_NAME
from ..dialects.coreasm.executable_ops import (
    BytesOp,
    DataOp,
    LaunchOp,
    MemoryOp,
    NoteOp,
    SetsOp,
    SourcesOp,
    TensorOp,
)
from ..dialects.coreasm.ops import UnpackedControllerOp, UnpackedOp, UnpackedProgramOp
from ..dialects.coreasm.packed import ControllerOp, PackedOp, ProgramOp
from ..dialects.manycore import CHIP, chip_of
from ..dialects.weight_references import reference_of
from ..emulator.executable.check import WordError, check_executable
from ..emulator.executable.executable import Buffer, Executable, Launch, Program, Role, TensorInfo
from ..support.errors import InputError
from .linker.executable_data import DataSection, Space
from .linker.program_code import SourceTable, core_sets_of, launch_of

_Op = TypeVar("_Op", bound=Operation)
_EXECUTABLE = (
    NoteOp, MemoryOp, TensorOp, SetsOp, SourcesOp, ProgramOp, UnpackedProgramOp, LaunchOp, ControllerOp,
    UnpackedControllerOp, DataOp, BytesOp,
)  # fmt: skip


def coreasm_to_executable(module: ModuleOp, location: str = "the module", load: bool = True) -> Executable:
    """
    The executable that a module describes, its programs packed or not. An image that consists of one data section is
    memory-mapped; without `load`, images are left zero, for a check of everything else.

    Raises InputError that names the line of the text if it is known (else `location`), the program and the word.
    """
    for op in module.ops:
        if not isinstance(op, _EXECUTABLE):
            raise InputError(f"{_where(op, location)}: '{op.name}' does not belong in an executable")
    chip = _chip(module, location)
    controllers = [op for op in module.ops if isinstance(op, ControllerOp | UnpackedControllerOp)]
    if len(controllers) != 1:
        where = _where(controllers[1], location) if controllers else location
        raise InputError(f"{where}: an executable has one 'coreasm.controller', there are {len(controllers)}")
    sources = SourceTable([name for op in _all(module, SourcesOp) for name in op.all])
    programs = [_program(op, sources, location) for op in module.ops if isinstance(op, ProgramOp | UnpackedProgramOp)]
    numbers = {program.name: number for number, program in enumerate(programs)}
    data = [_data(op) for op in module.ops if isinstance(op, DataOp | BytesOp)]
    tensors = [_tensor(op) for op in _all(module, TensorOp)]
    dram, host = (_Image.of(module, space, data, tensors, location) for space in ("dram", "host"))
    exe = Executable(
        chip=chip,
        tensors=tensors,
        programs=programs,
        launches=[_launch(op, numbers, chip, location) for op in _all(module, LaunchOp)],
        core_sets=_core_sets(module, chip, location),
        controller=_code(controllers[0], location).words,
        weights=dram.load() if load else dram.zeros(),
        weights_address=dram.start,
        dram_bytes_used=dram.used,
        source_names=sources.names,
        notes={text_of(op.key): text_of(op.value) for op in _all(module, NoteOp)},
        host_weights=host.load() if load else host.zeros(),
        host_weights_address=host.start,
        host_bytes_used=host.used,
    )
    try:
        check_executable(exe, location)
    except WordError as error:
        owner = controllers[0] if error.program is None else _named(module, error.program)
        line = location_of(owner, error.word)
        raise InputError(str(error).replace(location, line, 1) if line else str(error)) from error
    return exe


def _named(module: ModuleOp, program: str) -> Operation:
    ops = (op for op in module.ops if isinstance(op, ProgramOp | UnpackedProgramOp))
    return next(op for op in ops if op.sym_name.data == program)


def _where(op: Operation, location: str) -> str:
    """`FILE:LINE` of an operation if it is known, else `location`."""
    if isinstance(op.location, FileLineColLoc):
        return f"{op.location.filename.data}:{op.location.line.data}"
    return location_of(op, 0) or location


def _all(module: ModuleOp, kind: type[_Op]) -> list[_Op]:
    return [op for op in module.ops if isinstance(op, kind)]


def _chip(module: ModuleOp, location: str) -> Chip:
    try:
        chip = chip_of(module)
    except VerifyException as error:
        raise InputError(f"{location}: {error}") from error
    if chip is None:
        raise InputError(f'{location}: no chip is named: give the module {CHIP} = #manycore.chip<"NAME">')
    return chip


def _code(op: PackedOp | UnpackedOp, location: str) -> Code:
    try:
        return op.code
    except VerifyException as error:
        raise InputError(f"{_where(op, location)}: {error}") from error


def _program(op: ProgramOp | UnpackedProgramOp, sources: SourceTable, location: str) -> Program:
    return sources.program(op.sym_name.data, _code(op, location))


def _launch(op: LaunchOp, numbers: Mapping[str, int], chip: Chip, location: str) -> Launch:
    where = _where(op, location)
    runs = [(run, location_of(op, number) or where) for number, run in enumerate(op.runs)]
    return launch_of(runs, numbers, chip.cores, where)


def _core_sets(module: ModuleOp, chip: Chip, location: str) -> NDArray[np.bool_]:
    sets = [
        (members, location_of(op, number) or _where(op, location))
        for op in _all(module, SetsOp)
        for number, members in enumerate(op.all)
    ]
    return core_sets_of(sets, chip.cores)


def _tensor(op: TensorOp) -> TensorInfo:
    return TensorInfo(
        text_of(op.tensor_name),
        cast(Role, op.role.data),
        TYPE_BY_NAME[op.type.data].code,
        tuple(op.shape.get_values()),
        op.dram.value.data,
        op.bytes.value.data,
        -1 if op.host is None else op.host.value.data,
    )


def _data(op: DataOp | BytesOp) -> tuple[DataOp | BytesOp, DataSection]:
    space = cast(Space, op.space.data)
    content = reference_of(op) if isinstance(op, DataOp) else op.content
    return op, DataSection(space, op.address.value.data, content)


@dataclass(frozen=True)
class _Image:
    """The part of a memory that is filled before the run."""

    start: int
    nbytes: int
    used: int
    entries: Sequence[tuple[DataOp | BytesOp, DataSection]]
    """The data by address; none overlaps another or lies outside of the memory."""
    location: str

    @staticmethod
    def of(
        module: ModuleOp,
        space: Space,
        data: Iterable[tuple[DataOp | BytesOp, DataSection]],
        tensors: Sequence[TensorInfo],
        location: str,
    ) -> _Image:
        """
        The image that `coreasm.memory` describes, or that follows from data and tensors. Raises InputError for data
        that overlap.
        """
        entries = sorted((each for each in data if each[1].space == space), key=lambda each: each[1].address)
        stated = [op for op in _all(module, MemoryOp) if op.space.data == space]
        if len(stated) > 1:
            raise InputError(f"{_where(stated[1], location)}: 'coreasm.memory {space}' is given twice")
        if stated:
            start, nbytes, used = (n.value.data for n in (stated[0].image, stated[0].bytes, stated[0].used))
        else:
            start = entries[0][1].address if entries else 0
            nbytes = max((entry.end for _, entry in entries), default=start) - start
            ends = [t.dram_address + t.nbytes for t in tensors] if space == "dram" else []
            used = max([*ends, start + nbytes], default=0) if space == "dram" else 0
        at = start
        for op, entry in entries:
            if entry.address < at or entry.end > start + nbytes:
                raise InputError(
                    f"{_where(op, location)}: data at {space} {entry.address:#x} to {entry.end:#x} overlaps other data"
                    f" or lies outside of the image, {start:#x} to {start + nbytes:#x}"
                )
            at = entry.end
        return _Image(start, nbytes, used, entries, location)

    def load(self) -> Buffer:
        """The bytes of the image."""
        if len(self.entries) == 1 and self.entries[0][1].nbytes == self.nbytes:
            return self._entry(*self.entries[0])
        image = self.zeros()
        for op, entry in self.entries:
            at = entry.address - self.start
            image[at : at + entry.nbytes] = self._entry(op, entry)
        return image

    def zeros(self) -> NDArray[np.uint8]:
        """Zeros of this size, which take no memory until they are written."""
        return np.zeros(self.nbytes, np.uint8)

    def _entry(self, op: Operation, entry: DataSection) -> NDArray[np.uint8]:
        try:
            return entry.load()
        except InputError as error:
            raise InputError(f"{_where(op, self.location)}: {error}") from error
