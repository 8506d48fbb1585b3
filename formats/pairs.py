"""4-bit integers, two per byte: along an axis, those of even index in the low bits, the others in the high bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 4
LOW_BITS = (1 << BITS) - 1


def pairs_along(size: int) -> int:
    """Number of pairs for `size` integers along an axis; if `size` is odd, the last pair has one unused integer."""
    return -(-size // 2)


def pack_pairs(values: NDArray[Any], axis: int) -> NDArray[np.uint8]:
    """
    The low 4 bits of integers as bytes, with ceil(n / 2) bytes for n integers along `axis`; an unused integer is 0.
    """
    bits = np.moveaxis(values.astype(np.uint8) & np.uint8(LOW_BITS), axis, -1)
    if bits.shape[-1] % 2:
        bits = np.concatenate([bits, np.zeros_like(bits[..., :1])], -1)
    packed = bits[..., 0::2] | bits[..., 1::2] << np.uint8(BITS)
    return np.ascontiguousarray(np.moveaxis(packed, -1, axis))


def unpack_pairs(pairs: NDArray[Any], axis: int, size: int) -> NDArray[Any]:
    """
    The first `size` integers along an axis of pairs, in the element type of `pairs`: signed for int8, unsigned for
    uint8.
    """
    low, high = low_of(pairs), high_of(pairs)
    both = np.stack([low, high], axis + 1 if axis >= 0 else pairs.ndim + axis + 1)
    axis %= pairs.ndim
    shape = (*pairs.shape[:axis], 2 * pairs.shape[axis], *pairs.shape[axis + 1 :])
    return both.reshape(shape).take(np.arange(size), axis)


def low_of(pairs: NDArray[Any]) -> NDArray[Any]:
    """The integers in the low bits of each byte, in the element type of `pairs`."""
    bits = pairs & pairs.dtype.type(LOW_BITS)
    if pairs.dtype.kind == "u":
        return bits
    sign = pairs.dtype.type(1 << (BITS - 1))
    return (bits ^ sign) - sign


def high_of(pairs: NDArray[Any]) -> NDArray[Any]:
    """The integers in the high bits of each byte, in the element type of `pairs`."""
    return pairs >> pairs.dtype.type(BITS)
