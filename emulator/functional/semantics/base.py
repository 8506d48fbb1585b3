"""
Common base of the semantics of all instructions: decoded instructions, their operands, and how to read and write them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ...machine.errors import Fault
from ...machine.memory import (
    BF16,
    COMPUTE,
    NARROW,
    STORAGE,
    Array,
    Bytes,
    Geometry,
    is_float,
    narrowed,
    storage,
    store,
    widen,
    widen_bf16,
)

Step: TypeAlias = Callable[[Bytes, Bytes, int, int, int, int], None]
"""Function that executes an instruction: (SRAM of its core, DRAM, effective addresses of operands 0 to 3)."""

Reader: TypeAlias = Callable[[Bytes, int], Array]
"""Function that returns the elements of an operand at an address of a memory, in the type of arithmetic."""


class Instruction(NamedTuple):
    """One instruction word with its descriptors, without addresses."""

    mnemonic: str
    source_type: int
    """Low nibble of the dtype field."""
    result_type: int
    """High nibble of the dtype field."""
    imm: int
    operands: tuple[Geometry | None, Geometry | None, Geometry | None, Geometry | None]
    """None if the descriptor index is 0xFFFF: an immediate, or no operand."""
    address: tuple[int, int, int, int]
    """The raw address fields: values of immediates and of instructions without operands."""

    def operand(self, slot: int) -> Geometry:
        """The descriptor of operand `slot`. Raises Fault if there is none."""
        geometry = self.operands[slot]
        if geometry is None:
            raise Fault(f"operand {slot} must have a descriptor")
        return geometry


class Access(NamedTuple):
    """The bytes that an instruction accesses: operand `slot` in SRAM or DRAM."""

    slot: int
    geometry: Geometry
    itemsize: int
    write: bool
    dram: bool = False
    reads_too: bool = False
    """For a write: whether the old contents are read, too (accumulation)."""


class Decoded(NamedTuple):
    """A decoded instruction: the function that executes it, and its accesses at the effective addresses."""

    step: Step
    accesses: tuple[Access, ...] = ()


def signed32(value: int) -> int:
    """A 32-bit field as a signed number."""
    return value - (1 << 32) if value >= 1 << 31 else value


def immediate(field: int, code: int) -> Array:
    """The value of an immediate of element type `code`, as an array of rank 0 of its arithmetic type."""
    if is_float(code):
        value = np.array(field, np.uint32).view(np.float32)
        if code == BF16:
            return value
        if code in NARROW:
            return widen(narrowed(value, code), code)
        return value.astype(STORAGE[code]).astype(COMPUTE[code])
    return np.array(signed32(field), np.int64).astype(storage(code))


def reader(geometry: Geometry, code: int) -> Reader:
    """The function that reads an operand of element type `code`."""
    kind, shape, strides = storage(code), geometry.shape, geometry.strides
    if code == BF16:
        return lambda memory, address: widen_bf16(np.ndarray(shape, kind, memory, address, strides))
    if code in NARROW:
        return lambda memory, address: widen(np.ndarray(shape, kind, memory, address, strides), code)
    if kind is not COMPUTE[code]:
        compute = COMPUTE[code]
        return lambda memory, address: np.ndarray(shape, kind, memory, address, strides).astype(compute)
    return lambda memory, address: np.ndarray(shape, kind, memory, address, strides)


def write(memory: Bytes, address: int, geometry: Geometry, code: int, values: Array) -> None:
    """Store `values` in the operand of element type `code` at `address`, converted to that type."""
    store(np.ndarray(geometry.shape, STORAGE[code], memory, address, geometry.strides), code, values)


def check_types(*codes: int) -> None:
    """Raise Fault unless all these element types exist."""
    for code in codes:
        storage(code)


def plain(*codes: int) -> bool:
    """Whether the type of arithmetic is the stored type for all these element types."""
    return all(STORAGE[code] is COMPUTE[code] for code in codes)


def same_shape(shape: tuple[int, ...], *others: Geometry) -> None:
    """Raise Fault unless all operands have equal sizes."""
    for other in others:
        if other.shape != shape:
            raise Fault(f"operands differ in size: {shape} and {other.shape}")
