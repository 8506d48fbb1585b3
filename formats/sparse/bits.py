"""Bit streams of unsigned codes of a fixed width, lowest bit first, without padding between codes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError

Array: TypeAlias = NDArray[Any]
Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]


def stream_bytes(count: int, bits: int) -> int:
    """Bytes of `count` codes of `bits` bits; the last byte may be partly filled."""
    return (count * bits + 7) // 8


def pack(codes: Array, bits: int) -> Bytes:
    """The stream of codes [n], each in [0, 2**bits)."""
    if 1 <= bits <= 8:
        planes = np.unpackbits(codes.astype(np.uint8)[:, None], axis=1, count=bits, bitorder="little")
    else:
        planes = ((codes.astype(np.int64)[:, None] >> np.arange(bits)) & 1).astype(np.uint8)
    return np.packbits(planes.reshape(-1), bitorder="little")


def unpack(stream: Bytes, count: int, bits: int, what: str) -> Ints:
    """
    The codes [count] of a stream.

    Raises InputError, naming `what`, for a stream of another length, or with bits set after the last code.
    """
    expected = stream_bytes(count, bits)
    if len(stream) != expected:
        raise InputError(f"damaged {what}: {len(stream)} bytes, expected {expected} for {count} codes of {bits} bits")
    flat = np.unpackbits(stream, bitorder="little")
    if flat[count * bits :].any():
        raise InputError(f"damaged {what}: bits are set after the last of {count} codes")
    if bits == 1:
        return flat[:count].astype(np.int64)
    planes = flat[: count * bits].reshape(count, bits)
    if 1 <= bits <= 8:
        return np.packbits(planes, axis=1, bitorder="little").reshape(-1).astype(np.int64)
    return planes.astype(np.int64) @ (np.int64(1) << np.arange(bits, dtype=np.int64))
