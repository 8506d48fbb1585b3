"""
Instructions that plug-ins add: instructions of the vector unit, elementwise or on rows, with opcodes reserved for them.

An executable that contains such instructions names them in its notes, so that a reader without the plug-in can report
what is missing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .encoding import TypeCode, Unit
from .instruction import FLOATS, Cost, Family, Instruction, Operand, TypeOf, same
from .isa import BY_CODE, BY_MNEMONIC, add_instruction
from .plugin_notes import check_named

CODES = range(0xE0, 0xF0)
"""Opcodes that are reserved for plug-ins."""
NOTE = "instructions"
"""Key of the note in which an executable names the plug-ins' instructions that it contains."""

_MNEMONIC = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)*")
_FAMILIES = (Family.UNARY, Family.BINARY, Family.TERNARY)
_D = Operand(0, "D", writes=True, reads=False, type=TypeOf.DESTINATION)
_PLUGIN_OF: dict[str, str] = {}
"""Mnemonic -> the module that adds it."""


def vector_instruction(
    mnemonic: str, code: int, sources: int, semantics: str, types: Iterable[TypeCode] = FLOATS, factor: int = 1
) -> Instruction:
    """
    The entry of an elementwise instruction of the vector unit: D = f(A), f(A, B) or f(A, B, C) by the number of
    `sources`, each in SRAM or an immediate value, all of one of the element `types`. It takes `factor` times as many
    cycles as an addition. `semantics` describes in one line what it computes.

    Raises InputError for a code outside `CODES` and for other invalid arguments.
    """
    _check_name(mnemonic, code)
    if not 1 <= sources <= 3 or factor < 1:
        raise InputError(f"instruction '{mnemonic}': it takes 1 to 3 sources and a factor of 1 or more")
    operands = (_D, *(Operand(slot, "DABC"[slot], immediate=True) for slot in range(1, sources + 1)))
    return Instruction(
        mnemonic, code, Unit.VPU, _FAMILIES[sources - 1], Cost.VECTOR, operands, semantics, types=same(types),
        factor=factor, function=mnemonic,
    )  # fmt: skip


def row_instruction(
    mnemonic: str, code: int, semantics: str, types: Iterable[tuple[TypeCode, TypeCode]], factor: int = 1
) -> Instruction:
    """
    The entry of an instruction of the vector unit on rows: D[..., m] = f(A[..., n]), where n and m are the last
    dimensions of the descriptors and may differ, while all other dimensions are equal; both operands are in SRAM.
    `types` are the permitted pairs (element type of A, element type of D). It takes `factor` times as many cycles as an
    addition of A's size.

    Raises InputError as `vector_instruction` does.
    """
    _check_name(mnemonic, code)
    pairs = frozenset(types)
    if not pairs or factor < 1:
        raise InputError(f"instruction '{mnemonic}': it takes element types and a factor of 1 or more")
    return Instruction(
        mnemonic, code, Unit.VPU, Family.ROWS, Cost.VECTOR, (_D, Operand(1, "A")), semantics, types=pairs,
        factor=factor, function=mnemonic,
    )  # fmt: skip


def _check_name(mnemonic: str, code: int) -> None:
    if code not in CODES:
        raise InputError(
            f"instruction '{mnemonic}': opcode {code:#x} is not reserved for plug-ins: choose 0xe0 to 0xef"
        )
    if _MNEMONIC.fullmatch(mnemonic) is None:
        raise InputError(f"instruction '{mnemonic}': a mnemonic consists of lower-case letters, digits and single dots")


def add(instruction: Instruction, plugin: str) -> None:
    """
    Register an instruction made by `vector_instruction` or `row_instruction`. Raises InputError if its mnemonic or
    opcode is taken.
    """
    if instruction.code in BY_CODE:
        other = BY_CODE[instruction.code].mnemonic
        raise InputError(
            f"instruction '{instruction.mnemonic}': opcode {instruction.code:#x} is used by '{other}': choose another"
        )
    if instruction.mnemonic in BY_MNEMONIC:
        raise InputError(f"there is an instruction '{instruction.mnemonic}' already: give it another name")
    add_instruction(instruction)
    _PLUGIN_OF[instruction.mnemonic] = plugin


def noted(notes: Mapping[str, str], words: Iterable[NDArray[Any]]) -> dict[str, str]:
    """
    The notes of an executable, with the note that names the plug-ins' instructions among the `words` of its programs.
    """
    used = {code for one in words for code in np.unique(one["op"]).tolist() if code in CODES and code in BY_CODE}
    others = {key: note for key, note in notes.items() if key != NOTE}
    if not used:
        return others
    entries = [
        {
            "mnemonic": BY_CODE[code].mnemonic,
            "plugin": _PLUGIN_OF[BY_CODE[code].mnemonic],
            "definition": _definition(BY_CODE[code]),
        }
        for code in sorted(used)
    ]
    return {**others, NOTE: json.dumps(entries)}


def check_notes(notes: Mapping[str, str], location: str) -> None:
    """Raise InputError, which names the plug-in, if an instruction named in the notes is unknown or differs."""

    def known(mnemonic: str) -> str | None:
        return _definition(BY_MNEMONIC[mnemonic]) if mnemonic in BY_MNEMONIC else None

    check_named(notes, NOTE, "mnemonic", "instructions", known, location)


def _definition(instruction: Instruction) -> str:
    """A hash of all fields of an entry of the instruction table."""
    types = sorted((int(source), int(result)) for source, result in instruction.types)
    said = (instruction.code, instruction.family, len(instruction.operands), types, instruction.factor)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]
