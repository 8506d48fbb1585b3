"""An executable as a module of the `coreasm` dialect, without loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..chips import Chip, chip_names, load_chip
from ..dialects.coreasm.encoding import TYPES
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
from ..dialects.coreasm.launch_text import runs_of
from ..dialects.coreasm.packed import ControllerOp, ProgramOp
from ..dialects.manycore import CHIP, ChipAttr
from ..emulator.executable.executable import Executable, TensorInfo, as_view
from ..formats.weights import STORE, WeightRef, sha256_of
from .linker.executable_data import DataSection
from .linker.program_code import SourceTable, controller_code, launch_programs

LARGEST_INLINE = 64
"""Largest number of bytes that are printed inline."""


def executable_to_coreasm(exe: Executable, data: Sequence[DataSection] | None = None) -> ModuleOp:
    """
    The module that describes an executable, which must be valid (see `emulator.executable.check`).

    `data` are the contents of its images, whose bytes are then not read: they begin at the executable's addresses, and
    end with the image if it has bytes, otherwise with the last entry. Without `data` the module holds the executable's
    bytes, which the process keeps from then on (`formats.weights`).
    """
    given = _own_data(exe) if data is None else data
    ops: list[Operation] = [NoteOp(key, exe.notes[key]) for key in sorted(exe.notes)]
    ops += _memories(exe, given)
    ops += [_tensor(tensor) for tensor in exe.tensors]
    if len(exe.core_sets):
        ops.append(SetsOp([row.nonzero()[0].tolist() for row in exe.core_sets]))
    if exe.source_names:
        ops.append(SourcesOp(exe.source_names))
    table = SourceTable(exe.source_names)
    ops += [ProgramOp(program.name, table.code(program)) for program in exe.programs]
    ops += [
        LaunchOp(runs_of(launch_programs(exe, number), launch.params_of_core))
        for number, launch in enumerate(exe.launches)
    ]
    ops.append(ControllerOp(controller_code(exe)))
    ops += [_data(entry) for entry in given if entry.nbytes]
    return ModuleOp(ops, {CHIP: chip_attr(exe.chip)})


def data_in_file(exe: Executable, file: memoryview, source: str) -> list[DataSection]:
    """
    The data of an executable decoded from the bytes of `file`, as references into it by the name `source`; data that
    are compressed there are inline.
    """
    start = np.frombuffer(file, np.uint8).ctypes.data
    entries: list[DataSection] = []
    for entry in _own_data(exe):
        data = entry.load()
        offset = data.ctypes.data - start
        if 0 <= offset <= len(file) - data.size:
            reference = WeightRef(source, offset, data.size, sha256_of(data))
            entries.append(DataSection(entry.space, entry.address, reference))
        else:
            entries.append(replace(entry, inline=True))
    return entries


def chip_attr(chip: Chip) -> ChipAttr:
    """The chip by its name if that identifies it, else by all its numbers."""
    if chip.name in chip_names() and load_chip(chip.name) == chip:
        return ChipAttr(chip.name)
    return ChipAttr(json.dumps(chip.table, sort_keys=True))


def _own_data(exe: Executable) -> list[DataSection]:
    return [
        DataSection("dram", exe.weights_address, exe.weights),
        DataSection("host", exe.host_weights_address, exe.host_weights),
    ]


def _memories(exe: Executable, data: Sequence[DataSection]) -> list[Operation]:
    ends = {space: max((entry.end for entry in data if entry.space == space), default=0) for space in ("dram", "host")}
    dram, host = exe.weights_address, exe.host_weights_address
    dram_bytes = exe.weight_bytes or max(0, ends["dram"] - dram)
    host_bytes = exe.host_weight_bytes or max(0, ends["host"] - host)
    ops: list[Operation] = [MemoryOp("dram", exe.dram_bytes_used, dram, dram_bytes)]
    if exe.host_bytes_used or host or host_bytes:
        ops.append(MemoryOp("host", exe.host_bytes_used, host, host_bytes))
    return ops


def _tensor(t: TensorInfo) -> TensorOp:
    host = None if t.host_address < 0 else t.host_address
    return TensorOp(t.role, t.name, TYPES[t.dtype].name, t.shape, t.dram_address, t.nbytes, host)


def _data(entry: DataSection) -> Operation:
    content = entry.content
    if isinstance(content, WeightRef):
        ref = content
    elif entry.inline or entry.nbytes <= LARGEST_INLINE:
        return BytesOp(entry.space, entry.address, bytes(as_view(content)))
    else:
        ref = STORE.put(entry.load())
    return DataOp(entry.space, entry.address, source=ref.source, offset=ref.offset, nbytes=ref.bytes, sha256=ref.sha256)
