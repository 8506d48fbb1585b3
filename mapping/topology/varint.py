"""
Integers of variable length (spec 4, S1): seven bits per byte, most significant group first; a top bit of 1 means that
more follow.

A number has at most nine bytes, hence 0 <= number < 2^63.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...support.errors import InputError
from ...support.jit import jit, jit_with
from .topology import integers

MOST_BYTES = 9
"""Length of the longest number, in bytes."""

_LARGEST = (1 << 63) - 1


@jit_with(inline="always")
def put(out: NDArray[np.uint8], at: int, value: Any) -> int:
    """Write `value` at `out[at:]`. Returns the index of the next number."""
    shift = 0
    while value >> (shift + 7) != 0:
        shift += 7
    while shift > 0:
        out[at] = 128 | ((value >> shift) & 127)
        at += 1
        shift -= 7
    out[at] = value & 127
    return at + 1


@jit_with(inline="always")
def get(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """The number at `data[at:end]`, and the index of the next one; -1 if it is cut off or longer than nine bytes."""
    value: Any = np.int64(0)
    stop = min(end, at + 9)
    while at < stop:
        byte = np.int64(data[at])
        at += 1
        value = (value << 7) | (byte & 127)
        if byte < 128:
            return value, at
    return value, -1


@jit_with(inline="always")
def length(value: Any) -> int:
    """Number of bytes of `value`."""
    count = 1
    while value >> 7 != 0:
        value >>= 7
        count += 1
    return count


@jit
def _encode(values: NDArray[Any]) -> NDArray[np.uint8]:
    total = 0
    for k in range(values.size):
        total += length(values[k])
    out = np.empty(total, np.uint8)
    at = 0
    for k in range(values.size):
        at = put(out, at, values[k])
    return out


@jit
def _decode(data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], int]:
    """All numbers, and -1 or the index at which an invalid one starts."""
    count = 0
    for k in range(data.size):
        count += data[k] < 128
    values = np.empty(count, np.int64)
    at = 0
    for k in range(count):
        start = at
        values[k], at = get(data, at, data.size)
        if at < 0:
            return values, start
    return values, -1 if at == data.size else at


def encode_varints(values: ArrayLike) -> bytes:
    """The bytes of `values` (a vector of integers in 0..2^63 - 1). Raises InputError for other values."""
    return _encode(integers("values", values, _LARGEST)).tobytes()


def decode_varints(data: bytes) -> NDArray[np.int64]:
    """The numbers in `data`. Raises InputError naming the byte at which a number is cut off or too long."""
    values, bad = _decode(np.frombuffer(data, np.uint8))
    if bad >= 0:
        raise InputError(f"byte {bad}: a number that is truncated or longer than {MOST_BYTES} bytes")
    return values
