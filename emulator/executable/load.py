"""Loading of a launch: the words of all cores, with their parameters inserted, as flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import MNEMONICS, UNIT_OF_OPCODE, Unit, by_opcode
from ..machine.errors import EmulationError
from ..machine.expand import (
    ADDI,
    DATA,
    DRAIN,
    HALT,
    LEAVE,
    LI,
    LOOP,
    LOOP_BY,
    NOP,
    POST,
    READ,
    WAIT,
    Code,
)
from .executable import Executable, Launch, Program

_CONTROL = {
    "halt": HALT, "nop": NOP, "loop": LOOP, "addi": ADDI, "li": LI, "drain": DRAIN, "lr": READ, "loop.r": LOOP_BY,
    "leave": LEAVE,
    "put": POST, "put.z": POST, "signal": POST, "ready": POST, "send.wait": WAIT, "wait": WAIT,
}  # fmt: skip
_UNKNOWN = 255
KIND_OF_OPCODE: NDArray[np.uint8] = by_opcode(
    lambda i: _UNKNOWN if i.unit > Unit.SEQ else _CONTROL.get(i.mnemonic, DATA), np.uint8, _UNKNOWN
)
"""Kind of word for the sequencer, by operation code (see `machine/expand.py`)."""
_FAR_SOURCE = np.array([name in ("load", "load.gather") for name in MNEMONICS])
_FAR_TARGET = np.array([name == "store" for name in MNEMONICS])


def has_dynamic_loops(exe: Executable) -> bool:
    """Whether a program has dynamic loops."""
    return any(bool(np.isin(KIND_OF_OPCODE[program.words["op"]], [LOOP_BY, LEAVE]).any()) for program in exe.programs)


def patched_words(program: Program, values: NDArray[np.uint32]) -> NDArray[Any]:
    """The words of `program`, with a core's parameter `values` inserted. Raises EmulationError for a bad parameter."""
    if len(values) != len(program.params):
        raise EmulationError(
            f"program '{program.name}' has {len(program.params)} parameters, but a core gives {len(values)}"
        )
    if not len(values):
        return program.words
    words = program.words.copy()
    at, field = program.params[:, 0], program.params[:, 1]
    if np.any(at >= len(words)) or np.any(field > 9):
        raise EmulationError(f"program '{program.name}' has a parameter for a word or a field that does not exist")
    for code in np.unique(field):
        which = field == code
        if code < 4:
            words["addr"][at[which], code] = values[which]
        elif code < 8:
            words["desc"][at[which], code - 4] = values[which]
        else:
            words["imm" if code == 8 else "regs"][at[which]] = values[which]
    return words


def launch_code(exe: Executable, launch: Launch) -> tuple[list[NDArray[Any]], Code]:
    """The words of each core in `launch`, and all of them as flat arrays for the sequencer."""
    plain: dict[int, NDArray[Any]] = {}
    words: list[NDArray[Any]] = []
    for core in range(exe.chip.cores):
        index = int(launch.program_of_core[core])
        values = launch.params_of_core[core]
        if len(values):
            words.append(patched_words(exe.programs[index], values))
        else:
            words.append(plain.setdefault(index, patched_words(exe.programs[index], values)))
    length = np.array([len(w) for w in words], np.int64)
    flat = np.concatenate(words)
    kind = KIND_OF_OPCODE[flat["op"]]
    if np.any(kind == _UNKNOWN):
        at = int(np.flatnonzero(kind == _UNKNOWN)[0])
        core = int(np.searchsorted(np.cumsum(length), at, side="right"))
        program = exe.programs[int(launch.program_of_core[core])]
        word = at - int(length[:core].sum())
        raise EmulationError(f"operation code {flat['op'][at]} does not exist", core, program.name, word, "?")
    address = flat["addr"].astype(np.int64)
    far = _FAR_SOURCE[flat["op"]]
    address[far, 1] += address[far, 2] << 32
    address[far, 2] = 0
    far = _FAR_TARGET[flat["op"]]
    address[far, 0] += address[far, 3] << 32
    address[far, 3] = 0
    code = Code(
        base=np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64),
        length=length,
        kind=kind,
        unit=np.where((kind == READ) | (kind == DRAIN), np.uint8(Unit.DAU), UNIT_OF_OPCODE[flat["op"]]),
        wait=np.ascontiguousarray(flat["wait"]),
        signal=np.ascontiguousarray(flat["signal"]),
        regs=flat["regs"].astype(np.uint16),
        imm=flat["imm"].astype(np.int64),
        address=address,
        core_set=flat["desc"][:, 3].astype(np.int64),
        core_sets=np.ascontiguousarray(exe.core_sets, np.bool_).reshape(-1, exe.chip.cores),
    )
    return words, code
