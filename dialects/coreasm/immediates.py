"""Constants inside instruction words: 32 bits, f32 for float operands and signed integers for all others."""

from __future__ import annotations

import math
import struct

from ...support.errors import MeshloomError
from .encoding import TYPES, TypeCode

_I32 = 1 << 31


def _f32_bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def _integer(value: float, dtype: int) -> int:
    """The value in the range of the type, wrapped around as in arithmetic, then as a signed number."""
    if dtype == TypeCode.BOOL:
        return int(value != 0)
    storage = TYPES[dtype].storage
    bits = 8 * storage.itemsize
    wrapped = int(value) & ((1 << bits) - 1)
    if storage.kind == "u" and bits < 32:
        return wrapped
    return wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped


def fits_immediate(value: float, dtype: int) -> bool:
    """Whether `value`, a constant of element type `dtype`, can be encoded in an instruction word without loss."""
    if dtype == TypeCode.F64:
        value = float(value)
        if math.isnan(value) or math.isinf(value):
            return True
        bits = _f32_bits(value)
        return bits & 0x7FFFFFFF != 0x7F800000 and struct.unpack("<f", struct.pack("<I", bits))[0] == value
    if dtype in (TypeCode.F32, TypeCode.F16, TypeCode.BF16):
        return True
    return -_I32 <= _integer(value, dtype) < _I32


def immediate_bits(value: float, dtype: int) -> int:
    """
    The address field that encodes `value` of element type `dtype`.

    Raises MeshloomError for f64 values that f32 cannot hold and for integers beyond 32 bits.
    """
    if not fits_immediate(value, dtype):
        raise MeshloomError(f"the constant {value} does not fit into an instruction: give it as a tensor in memory")
    if dtype <= TypeCode.F64:
        return _f32_bits(float(value))
    return _integer(value, dtype) & 0xFFFF_FFFF


def wide_halves(value: float, dtype: int) -> tuple[int, int]:
    """Low and high 32 bits of an element of an 8-byte type."""
    low, high = struct.unpack(
        "<ii", struct.pack("<d", value) if dtype == TypeCode.F64 else struct.pack("<q", _integer(value, dtype))
    )
    return int(low), int(high)
