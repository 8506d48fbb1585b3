"""
The representation of tensors of strings as bytes: UTF-8, padded with zeros to the longest string of the tensor.

During import such tensors have numpy's dtype `S`; in the IR the bytes are a last dimension of type ui8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensors import Array, Dtype, NodeError


def is_text(dtype: Dtype) -> bool:
    """Whether this is a numpy type of strings that are not encoded yet."""
    return dtype.kind in "OUT"


def encode(strings: Any) -> Array:
    """
    Strings as an array of dtype S, at least one byte wide. Raises NodeError for other objects and for strings with a
    NUL.
    """
    array = np.asarray(strings, object)
    encoded = [_encode(one) for one in array.reshape(-1)]
    width = max([1, *map(len, encoded)])
    return np.asarray(encoded, f"S{width}").reshape(array.shape)


def decode(held: Array) -> Array:
    """Strings (dtype object) from their bytes, the last dimension of a uint8 array."""
    strings = [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in held.reshape(-1, held.shape[-1])]
    result = np.empty(len(strings), object)
    result[:] = strings
    return result.reshape(held.shape[:-1])


def bytes_of(array: Array) -> Array:
    """The bytes of an array of dtype S, as a last dimension."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.dtype.itemsize)


def of_bytes(held: Array) -> Array:
    """An array of dtype S from its bytes, the last dimension."""
    return np.ascontiguousarray(held).view(f"S{held.shape[-1]}").reshape(held.shape[:-1])


def _encode(string: Any) -> bytes:
    if not isinstance(string, str | bytes):
        raise NodeError(f"a tensor of strings has an element of type {type(string).__name__}")
    encoded = string.encode() if isinstance(string, str) else string
    if b"\0" in encoded:
        raise NodeError(f"the string {string!r} has a NUL character, which is not supported")
    return encoded
