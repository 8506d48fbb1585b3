"""
The instruction set: the table that defines all instructions.

The `coreasm` dialect, the executable's checks, the listing, both emulator engines, the cost model and the reference
page (`docs/reference/isa.md`) are all derived from `INSTRUCTIONS`. This module imports numpy only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .encoding import (
    DESC,
    FIELD_CODE,
    FIELDS,
    IS_FLOAT,
    ITEMSIZE,
    MAX_DIMS,
    MAX_LOOPS,
    NO_DESC,
    NO_SOURCE,
    QUEUES,
    REGISTERS,
    SLOTS,
    TENSOR_TYPES,
    TYPE_BY_NAME,
    TYPES,
    WORD,
    ElementType,
    TypeCode,
    Unit,
    bf16_to_f32,
    f32_to_bf16,
    new_words,
    pack_types,
)
from .instruction import DATA_DEPENDENT, Cost, Family, Imm, Instruction, Operand, Scalar, Space, TypeOf
from .table_compute import COMPUTE
from .table_map import MAP
from .table_move import MOVE

ISA_VERSION = 2

INSTRUCTIONS: tuple[Instruction, ...] = tuple(sorted(MOVE + COMPUTE + MAP, key=lambda i: i.code))
"""Every instruction of the project, by ascending opcode."""

BY_MNEMONIC: dict[str, Instruction] = {}
"""Every instruction by mnemonic, including those that plug-ins add."""
BY_CODE: dict[int, Instruction] = {}
OPCODE: dict[str, int] = {}

MNEMONICS: list[str] = [""] * 256
"""[256] mnemonic by opcode; "" for unused opcodes."""

_entering: list[Callable[[Instruction], None]] = []


def for_each_instruction(enter: Callable[[Instruction], None]) -> None:
    """Call `enter` for each instruction, and for each instruction that a plug-in adds later."""
    for instruction in BY_CODE.values():
        enter(instruction)
    _entering.append(enter)


def by_opcode(value: Callable[[Instruction], object], dtype: DTypeLike, default: object = 0) -> NDArray[Any]:
    """[256] `value` of each instruction by opcode, including those that plug-ins add; `default` for unused opcodes."""
    table = np.full(256, default, dtype)

    def enter(instruction: Instruction) -> None:
        table[instruction.code] = value(instruction)

    for_each_instruction(enter)
    return table


def by_operand(value: Callable[[Operand], object], dtype: DTypeLike, default: object = 0) -> NDArray[Any]:
    """[256, 4] `value` of each operand in memory, by opcode and slot; `default` for slots without an operand."""
    table = np.full((256, SLOTS), default, dtype)

    def enter(instruction: Instruction) -> None:
        for operand in instruction.operands:
            table[instruction.code, operand.slot] = value(operand)

    for_each_instruction(enter)
    return table


def add_instruction(instruction: Instruction) -> None:
    """Add an instruction to all tables. Its mnemonic and its opcode must be unused."""
    BY_MNEMONIC[instruction.mnemonic] = BY_CODE[instruction.code] = instruction
    OPCODE[instruction.mnemonic] = instruction.code
    MNEMONICS[instruction.code] = instruction.mnemonic
    for enter in _entering:
        enter(instruction)


for _instruction in INSTRUCTIONS:
    add_instruction(_instruction)

NO_UNIT = 255
UNIT_OF_OPCODE: NDArray[np.uint8] = by_opcode(lambda i: i.unit, np.uint8, NO_UNIT)
"""[256] `Unit` by opcode; `NO_UNIT` for unused opcodes."""
FACTOR_OF_OPCODE: NDArray[np.int64] = by_opcode(lambda i: i.factor, np.int64, 1)
"""[256] cycles per element relative to an addition, by opcode."""

COST_KINDS: tuple[Cost, ...] = tuple(Cost)
COST_OF_OPCODE: NDArray[np.uint8] = by_opcode(lambda i: COST_KINDS.index(i.cost), np.uint8)
"""[256] index into `COST_KINDS` by opcode."""

DEPENDS_ON_DATA: NDArray[np.bool_] = by_opcode(lambda i: i.cost in DATA_DEPENDENT, np.bool_)
"""[256] whether an instruction's cycles depend on the values of its operands, by opcode."""
ENCODED: NDArray[np.bool_] = by_operand(lambda o: o.encoded, np.bool_)
"""[256, 4] whether an operand is an encoded block, by opcode and slot."""

__all__ = [
    "BY_CODE",
    "BY_MNEMONIC",
    "COST_KINDS",
    "COST_OF_OPCODE",
    "DATA_DEPENDENT",
    "DEPENDS_ON_DATA",
    "DESC",
    "ENCODED",
    "FACTOR_OF_OPCODE",
    "FIELDS",
    "FIELD_CODE",
    "INSTRUCTIONS",
    "ISA_VERSION",
    "IS_FLOAT",
    "ITEMSIZE",
    "MAX_DIMS",
    "MAX_LOOPS",
    "MNEMONICS",
    "NO_DESC",
    "NO_SOURCE",
    "NO_UNIT",
    "OPCODE",
    "QUEUES",
    "REGISTERS",
    "SLOTS",
    "TENSOR_TYPES",
    "TYPES",
    "TYPE_BY_NAME",
    "UNIT_OF_OPCODE",
    "WORD",
    "Cost",
    "ElementType",
    "Family",
    "Imm",
    "Instruction",
    "Operand",
    "Scalar",
    "Space",
    "TypeCode",
    "TypeOf",
    "Unit",
    "add_instruction",
    "bf16_to_f32",
    "by_opcode",
    "by_operand",
    "f32_to_bf16",
    "for_each_instruction",
    "new_words",
    "pack_types",
]
