"""The binary encoding of instructions: words, access descriptors, element types, units, patchable fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = np.dtype(
    [
        ("op", "u1"),
        ("dtype", "u1"),
        ("wait", "u1"),
        ("signal", "u1"),
        ("regs", "<u2"),
        ("imm", "<u2"),
        ("addr", "<u4", (4,)),
        ("desc", "<u2", (4,)),
    ]
)
"""An instruction word, 32 bytes; the same for cores and controller."""

DESC = np.dtype([("size", "<u4", (5,)), ("stride", "<i4", (5,))])
"""
An access descriptor, 40 bytes: sizes (>= 1) and byte strides, outermost dimension first; unused dimensions: 1 and 0.
"""

NO_DESC = 0xFFFF
"""Descriptor index of an immediate source (its value is in the address field) and of slots without an operand."""
NO_SOURCE = 0xFFFF_FFFF
"""Source-name index of a word that was not generated for a named operation."""
SLOTS = 4
"""Operand slots of a word."""
MAX_DIMS = 5
"""Dimensions of an access descriptor."""
MAX_LOOPS = 4
"""The deepest nesting of hardware loops."""
REGISTERS = 16
"""Scalar registers of a core; R0 is always 0."""


class Unit(IntEnum):
    """
    The unit that executes an instruction. The first eight have queues in each core (bit numbers of `wait` and
    `signal`).
    """

    MPU = 0
    VPU = 1
    DAU = 2
    LOAD = 3
    STORE = 4
    SEND = 5
    RECV = 6
    MAP = 7
    SEQ = 8
    """The core's sequencer, which executes the instruction when it would dispatch others."""
    CTL = 9
    """The chip's controller, which executes a separate program."""


QUEUES = 8
"""Unit queues of a core."""


class TypeCode(IntEnum):
    """Element types by their code in the nibbles of a word's `dtype`."""

    F32 = 0
    F16 = 1
    BF16 = 2
    F64 = 3
    I8 = 4
    U8 = 5
    I16 = 6
    U16 = 7
    I32 = 8
    U32 = 9
    I64 = 10
    U64 = 11
    BOOL = 12
    F24 = 13
    """1-8-15, see `support/narrow_floats.py`."""
    F8E4M3 = 14
    """1-4-3"""
    F8E5M2 = 15
    """1-5-2"""


@dataclass(frozen=True)
class ElementType:
    """An element type; `storage` is the numpy type of its bytes (bf16 and narrow floats: their bits)."""

    code: TypeCode
    name: str
    storage: np.dtype[Any]
    is_float: bool

    @property
    def bytes(self) -> int:
        return self.storage.itemsize

    @property
    def narrow(self) -> bool:
        """
        Whether values are only stored in this type: `mov` converts to and from it; no other instruction accepts it.
        """
        return self.code >= TypeCode.F24


_STORAGE = ("<f4", "<f2", "<u2", "<f8", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "u1", "V3", "u1", "u1")

TYPES = tuple(
    ElementType(code, code.name.lower(), np.dtype(storage), code <= TypeCode.F64 or code >= TypeCode.F24)
    for code, storage in zip(TypeCode, _STORAGE, strict=True)
)
"""Element types by code."""

TYPE_BY_NAME = {t.name: t for t in TYPES}
TENSOR_TYPES = tuple(t for t in TYPES if not t.narrow)
"""The element types that inputs, outputs and weights may have."""
ITEMSIZE = np.array([t.bytes for t in TYPES] + [0] * (16 - len(TYPES)), np.int64)
"""Bytes of an element, by type code (0: no such type)."""
IS_FLOAT = np.array([t.is_float for t in TYPES] + [False] * (16 - len(TYPES)))

FIELDS = ("addr0", "addr1", "addr2", "addr3", "desc0", "desc1", "desc2", "desc3", "imm", "regs")
"""Fields of a word that parameters can patch, by field code."""
FIELD_CODE = {name: code for code, name in enumerate(FIELDS)}


def pack_types(source: int, destination: int) -> int:
    """The `dtype` byte of two type codes."""
    return source | destination << 4


def new_words(count: int) -> NDArray[Any]:
    """`count` words of `nop` (WORD): all fields 0, all descriptor fields `NO_DESC`."""
    words = np.zeros(count, WORD)  # nop is opcode 0
    words["desc"] = NO_DESC
    return words


def bf16_to_f32(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values of bf16 elements."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Bits of the nearest bf16 (ties to even; NaN stays a NaN)."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)
