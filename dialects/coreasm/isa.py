"""
The instruction set: the one table that defines it.

The `coreasm` dialect, the executable's checks, the listing, both emulator engines, the cost model and the reference
page (`docs/reference/isa.md`) all come from `INSTRUCTIONS`. Only numpy is imported here.
"""

from __future__ import annotations

import numpy as np

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
"""Every instruction, by ascending opcode."""

BY_MNEMONIC: dict[str, Instruction] = {i.mnemonic: i for i in INSTRUCTIONS}
BY_CODE: dict[int, Instruction] = {i.code: i for i in INSTRUCTIONS}
OPCODE: dict[str, int] = {i.mnemonic: i.code for i in INSTRUCTIONS}

MNEMONICS: tuple[str, ...] = tuple(BY_CODE[c].mnemonic if c in BY_CODE else "" for c in range(256))
"""[256] mnemonic by opcode, "" where there is none."""

NO_UNIT = 255
UNIT_OF_OPCODE = np.full(256, NO_UNIT, np.uint8)
"""[256] `Unit` by opcode, `NO_UNIT` where there is no instruction."""
FACTOR_OF_OPCODE = np.ones(256, np.int64)
"""[256] cycles per element relative to an addition."""
for _i in INSTRUCTIONS:
    UNIT_OF_OPCODE[_i.code] = _i.unit
    FACTOR_OF_OPCODE[_i.code] = _i.factor

COST_KINDS: tuple[Cost, ...] = tuple(Cost)
COST_OF_OPCODE = np.array([COST_KINDS.index(BY_CODE[c].cost) if c in BY_CODE else 0 for c in range(256)], np.uint8)
"""[256] index into `COST_KINDS` by opcode."""

DEPENDS_ON_DATA = np.array([c in BY_CODE and BY_CODE[c].cost in DATA_DEPENDENT for c in range(256)])
"""[256] whether an instruction's cycles depend on the values that it meets."""
ENCODED = np.zeros((256, SLOTS), np.bool_)
"""[256, 4] whether an operand is an encoded block."""
for _i in INSTRUCTIONS:
    ENCODED[_i.code, [_o.slot for _o in _i.operands if _o.encoded]] = True

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
    "bf16_to_f32",
    "f32_to_bf16",
    "new_words",
    "pack_types",
]
