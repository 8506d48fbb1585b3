"""Validation of executables: afterwards, all references are in range, so that readers need not check them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.added_formats import check_formats
from ...dialects.coreasm.added_instructions import check_notes
from ...dialects.coreasm.check import PATCHABLE, Limits, first_problem, structure_problem
from ...dialects.coreasm.encoding import DESC, FIELDS, NO_SOURCE, TENSOR_TYPES, WORD
from ...formats.sparse.encoded_interface import ENCODED
from ...support.errors import InputError
from ...support.limits import size_problem
from .chip_key_notes import check_chip_keys
from .executable import ROLES, Executable, Launch, Program, TensorInfo

MAX_HOST_BYTES = 1 << 48
MAX_PROGRAMS = 60000
_PROGRAM_NAME = re.compile(r"[ !#-\[\]-~]{1,200}")
"""Names that all tools and the dialect can print without escapes."""


class WordError(InputError):
    """An invalid word of the program of that name, or of the controller (None)."""

    def __init__(self, message: str, program: str | None, word: int) -> None:
        super().__init__(message)
        self.program, self.word = program, word


def check_executable(exe: Executable, location: str = "executable") -> None:
    """Raises InputError, naming `location`, the part and its defect, unless `exe` is valid."""
    check_plugins(exe.notes, location)
    chip, sets = exe.chip, exe.core_sets
    if sets.ndim != 2 or sets.shape[1] != chip.cores:
        raise InputError(f"{location}: core sets have shape {sets.shape}, the chip has {chip.cores} cores")
    if len(exe.programs) > MAX_PROGRAMS:
        raise InputError(f"{location}: {len(exe.programs)} programs, at most {MAX_PROGRAMS} fit in a file")
    _check_names("program", [p.name for p in exe.programs], location)
    for role in ROLES:  # an input may also be an output: one name, two roles
        _check_names(role, [t.name for t in exe.tensors if t.role == role], location)
    limits = Limits(0, len(sets), chip.semaphores)
    for program in exe.programs:
        if _PROGRAM_NAME.fullmatch(program.name) is None:
            raise InputError(f"{location}: program name {program.name!r} must be printable ASCII without quotes")
        _check_program(program, limits, len(exe.source_names), f"{location}: program '{program.name}'")
    for number, launch in enumerate(exe.launches):
        _check_launch(exe, launch, f"{location}: launch {number}")
    for tensor in exe.tensors:
        _check_tensor(tensor, chip, f"{location}: tensor '{tensor.name}'")
    end = exe.weights_address + exe.weight_bytes
    if not (0 <= exe.weights_address <= end <= chip.dram_bytes):
        raise InputError(f"{location}: weights end at {end}, the DRAM has {chip.dram_bytes} bytes")
    if not 0 <= exe.dram_bytes_used <= chip.dram_bytes:
        raise InputError(f"{location}: uses {exe.dram_bytes_used} bytes of DRAM, there are {chip.dram_bytes}")
    if exe.weight_bytes and end > exe.dram_bytes_used:
        raise InputError(f"{location}: weights end at {end}, but {exe.dram_bytes_used} bytes of DRAM are in use")
    _check_host(exe, location)
    _check_controller(exe, f"{location}: controller")
    _check_encoded(exe, location)


def check_plugins(notes: Mapping[str, str], location: str) -> None:
    """Raises InputError, naming the plug-in, if the notes require a plug-in that is not loaded."""
    check_notes(notes, location)
    check_formats(notes, location)
    check_chip_keys(notes, location)


def _check_names(kind: str, names: list[str], location: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or name in seen or "\0" in name:
            raise InputError(f"{location}: {kind} name {name!r} is empty, has a NUL or stands for two {kind}s")
        seen.add(name)


def _check_words(words: NDArray[Any], limits: Limits, location: str, program: str | None) -> None:
    if words.dtype != WORD or words.ndim != 1:
        raise InputError(f"{location}: words must be an array of WORD, got {words.dtype}")
    problem = first_problem(words, limits) or structure_problem(words, limits.controller)
    if problem is not None:
        raise WordError(f"{location}, word {problem[0]}: {problem[1]}", program, problem[0])


def _limits(limits: Limits, program: Program) -> Limits:
    return Limits(len(program.descs), limits.core_sets, limits.semaphores)


def _check_program(program: Program, limits: Limits, names: int, location: str) -> None:
    if program.descs.dtype != DESC or program.descs.ndim != 1:
        raise InputError(f"{location}: descriptors must be an array of DESC, got {program.descs.dtype}")
    _check_words(program.words, _limits(limits, program), location, program.name)
    empty = (program.descs["size"] == 0).any(axis=1)
    if empty.any():
        raise InputError(f"{location}: access descriptor {int(np.argmax(empty))} has a size of 0")
    if len(program.sources) != len(program.words):
        raise InputError(f"{location}: {len(program.sources)} source names for {len(program.words)} words")
    unnamed = (program.sources >= names) & (program.sources != NO_SOURCE)
    if unnamed.any():
        raise InputError(f"{location}, word {int(np.argmax(unnamed))}: source name {names} or above, there are {names}")
    at, code = program.params[:, 0], program.params[:, 1]
    if (at >= len(program.words)).any() or (code >= len(FIELDS)).any():
        raise InputError(f"{location}: a parameter names a word or a field that does not exist")
    fixed = ~PATCHABLE[program.words["op"][at], code]
    if fixed.any():
        which = int(np.argmax(fixed))
        word, field = int(at[which]), FIELDS[int(code[which])]
        raise WordError(f"{location}, word {word}: field {field} cannot be a parameter", program.name, word)
    if len(np.unique(at.astype(np.int64) * len(FIELDS) + code)) != len(at):
        raise InputError(f"{location}: two parameters for the same field")


def _check_launch(exe: Executable, launch: Launch, location: str) -> None:
    chip, numbers = exe.chip, launch.program_of_core
    if numbers.shape != (chip.cores,) or len(launch.params_of_core) != chip.cores:
        raise InputError(f"{location}: must name a program and parameters for each of the {chip.cores} cores")
    wrong = (numbers < 0) | (numbers >= len(exe.programs))
    if wrong.any():
        core = int(np.argmax(wrong))
        raise InputError(f"{location}, core {core}: there is no program {int(numbers[core])}")
    for core in chip.unusable_cores:
        if len(exe.programs[int(numbers[core])].words) > 1:
            raise InputError(f"{location}: assigns a program to core {core}, which is unusable")
    distinct: list[int] = np.unique(numbers).tolist()
    for number in distinct:
        cores = np.flatnonzero(numbers == number).tolist()
        program = exe.programs[number]
        count = len(program.params)
        for core in cores:
            if len(launch.params_of_core[core]) != count:
                given = len(launch.params_of_core[core])
                raise InputError(f"{location}, core {core}: {given} parameters, '{program.name}' takes {count}")
        if count:
            values = np.stack([np.asarray(launch.params_of_core[core], np.uint32) for core in cores])
            _check_values(exe, program, values, cores, location)


def _check_values(
    exe: Executable, program: Program, values: NDArray[np.uint32], cores: list[int], location: str
) -> None:  # inserts each value into a copy of its word, and checks all copies at once
    at, code = program.params[:, 0].astype(np.int64), program.params[:, 1].astype(np.int64)
    words = np.tile(program.words[at], (len(cores), 1))
    for field in np.unique(code).tolist():
        which = np.flatnonzero(code == field)
        chosen = values[:, which]
        if field >= 4 and (chosen > 0xFFFF).any():
            raise InputError(f"{location}: a parameter of '{program.name}' for {FIELDS[field]} exceeds 16 bits")
        if field < 8:
            words["addr" if field < 4 else "desc"][:, which, field % 4] = chosen
        else:
            words["imm" if field == 8 else "regs"][:, which] = chosen
    limits = Limits(len(program.descs), len(exe.core_sets), exe.chip.semaphores)
    flat = words.reshape(-1)
    problem = first_problem(flat, limits)
    if problem is None:
        problem = _loop_count_problem(flat)
    if problem is not None:
        core, which = divmod(problem[0], len(at))
        word = int(at[which])
        message = f"{location}, core {cores[core]}: parameter {which} of '{program.name}' (word {word}): {problem[1]}"
        raise WordError(message, program.name, word)


def _loop_count_problem(words: NDArray[Any]) -> tuple[int, str] | None:
    from ...dialects.coreasm.isa import OPCODE

    wrong = (words["op"] == OPCODE["loop"]) & (words["addr"][:, 0] == 0)
    return (int(np.argmax(wrong)), "loop count 0") if wrong.any() else None


def _check_tensor(tensor: TensorInfo, chip: Chip, location: str) -> None:
    if tensor.role not in ROLES or not 0 <= tensor.dtype < len(TENSOR_TYPES):
        raise InputError(f"{location}: unknown role {tensor.role!r} or element type {tensor.dtype}")
    if (problem := size_problem(tensor.shape, tensor.element_bytes)) is not None:
        raise InputError(f"{location}: {problem}")
    # An input or output may exceed DRAM if it is copied in parts.
    in_chunks = tensor.host_address >= 0 and tensor.dram_address == 0 and tensor.nbytes > chip.dram_bytes
    room, where = (MAX_HOST_BYTES, "host memory") if in_chunks else (chip.dram_bytes, "DRAM")
    elements = 1
    for size in tensor.shape:
        elements *= size
        if not 0 <= size <= room or elements > room:
            raise InputError(f"{location}: shape {tensor.shape} does not fit in {where}")
    needed = elements * tensor.element_bytes
    if tensor.nbytes < needed:
        raise InputError(f"{location}: {tensor.nbytes} bytes are too few for {elements} elements")
    if tensor.nbytes != needed and tensor.role in ("input", "output"):
        raise InputError(
            f"{location}: an {tensor.role} of {elements} elements takes {needed} bytes, not {tensor.nbytes}"
        )
    if tensor.dram_address < 0 or tensor.dram_address + tensor.nbytes > room:
        raise InputError(
            f"{location}: DRAM address {tensor.dram_address} and size do not fit in {chip.dram_bytes} bytes"
        )
    if tensor.host_address < -1 or tensor.host_address + tensor.nbytes > MAX_HOST_BYTES:
        raise InputError(f"{location}: host address {tensor.host_address} is out of range")
    if tensor.role == "input" and tensor.host_address < 0:
        raise InputError(f"{location}: an input needs a host address")


def _check_host(exe: Executable, location: str) -> None:
    if not 0 <= exe.host_weights_address <= MAX_HOST_BYTES or not 0 <= exe.host_bytes_used <= MAX_HOST_BYTES:
        raise InputError(f"{location}: weights or kept values lie outside of host memory")
    start, end = exe.host_weights_address, exe.host_weights_address + exe.host_weight_bytes
    for tensor in exe.tensors:
        if start < end and tensor.host_address < end and start < tensor.host_address + tensor.nbytes:
            raise InputError(f"{location}: tensor '{tensor.name}' overlaps the weights in host memory")


def _check_encoded(exe: Executable, location: str) -> None:
    if ENCODED in exe.notes:
        from .encoded_interface import encoded_interface  # imports executables

        try:
            encoded_interface(exe)
        except InputError as error:
            raise InputError(f"{location}: {error}") from error


def _check_controller(exe: Executable, location: str) -> None:
    words = exe.controller
    limits = Limits(0, len(exe.core_sets), exe.chip.semaphores, len(exe.launches), controller=True)
    _check_words(words, limits, location, None)
    from ...dialects.coreasm.isa import OPCODE

    copies = np.flatnonzero((words["op"] == OPCODE["ctl.h2d"]) | (words["op"] == OPCODE["ctl.d2h"]))
    host_end = exe.host_bytes
    held = exe.host_weights_address, exe.host_weights_address + exe.host_weight_bytes
    for index in copies.tolist():
        dram, host = address_pair(words[index])
        count = byte_count(words[index])
        if dram + count > exe.chip.dram_bytes or host + count > host_end:
            message = f"{location}, word {index}: copies {count} bytes beyond the DRAM or the host's memory"
            raise WordError(message, None, index)
        if words["op"][index] == OPCODE["ctl.d2h"] and host < held[1] and held[0] < host + count:
            raise WordError(f"{location}, word {index}: overwrites the weights in host memory", None, index)


def address_pair(word: Any) -> tuple[int, int]:
    """(DRAM address, host address) of a controller's copy."""
    a, b, c, d = (int(v) for v in word["addr"])
    return a | b << 32, c | d << 32


def byte_count(word: Any) -> int:
    """The 64-bit byte count of a controller's copy."""
    return sum(int(v) << (16 * k) for k, v in enumerate(word["desc"]))
