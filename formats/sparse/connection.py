"""
Combining connection data: which pairs of neuron and weight matter (spec 5, claims 7 to 10, 19, 20).

The first part works on the index of one fiber, as the claims put it: a direct index is an array of 0 and 1, a
stride index an array of distances (the first from position 0) without limit. The second part combines the indices of
whole tensors; fillers, which are stored but do not count, connect nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from .bits import Array, Ints
from .encode import Encoded, Mask, encode_mask, stored_positions
from .index_formats import Format, Kind

Bits = NDArray[Any]


def direct_to_strides(bits: Bits) -> Ints:
    """The distances between the ones of a direct index."""
    return np.diff(np.flatnonzero(bits), prepend=0)


def strides_to_direct(strides: Ints, length: int) -> NDArray[np.uint8]:
    """The direct index of a stride index. Raises InputError where it goes beyond `length` or stands still."""
    positions = np.cumsum(strides)
    if len(strides) and (positions[-1] >= length or strides[0] < 0 or (strides[1:] < 1).any()):
        raise InputError(f"stride index {strides.tolist()}: expected ascending positions below {length}")
    bits = np.zeros(length, np.uint8)
    bits[positions] = 1
    return bits


def combine_direct(first: Bits, second: Bits) -> Bits:
    """The AND of two direct indices. Raises InputError where their lengths differ."""
    if len(first) != len(second):
        raise InputError(f"direct indices of {len(first)} and {len(second)} bits: expected equal lengths")
    return first & second


def combine_strides(first: Ints, second: Ints) -> Ints:
    """Prefix sums of both stride indices, the common elements in ascending order, differences of neighbours."""
    common = np.intersect1d(np.cumsum(first), np.cumsum(second), assume_unique=True)
    return np.diff(common, prepend=0)


def combine_mixed_direct(strides: Ints, bits: Bits) -> Bits:
    """A stride and a direct index: the stride index made direct, then AND (claims 9, 19)."""
    return combine_direct(strides_to_direct(strides, len(bits)), bits)


def combine_mixed_strides(strides: Ints, bits: Bits) -> Ints:
    """A stride and a direct index: the direct index made strides, then as two stride indices (claims 10, 20)."""
    return combine_strides(strides, direct_to_strides(bits))


def connection_mask(encoded: Encoded) -> Mask:
    """Which elements of the tensor (in its shape) the index connects: those of stored groups that are not fillers."""
    format, fibers = encoded.format, encoded.fibers
    row, column = stored_positions(encoded)
    entries = encoded.values.reshape(-1, format.group)
    real = np.ones(len(row), np.bool_)
    if (maybe := format.definition.maybe_filler(row, column, format.bits)) is not None:
        real = ~maybe | (entries != 0).any(axis=1)
    groups = np.zeros((fibers.count, format.positions(fibers.length)), np.bool_)
    groups[row[real], column[real]] = True
    matrix = np.repeat(groups, format.group, axis=1)[:, : fibers.length]
    return fibers.tensor(matrix)


def connections(encoded: Encoded) -> Encoded:
    """The connection data of a tensor: the same index over ones, which say what counts (fillers are False)."""
    mask = connection_mask(encoded)
    return encode_mask(mask, mask, encoded.format, encoded.fibers)


def combine(first: Encoded, second: Encoded, format: Format) -> Encoded:
    """
    The connections that both have, as an index in `format`, arranged as the first one.

    Where both are strides and so is the result, or one is and the result, the work is that of stride indices, else an
    AND of direct indices; the result is the same. Raises InputError for tensors of different shapes.
    """
    if first.fibers.shape != second.fibers.shape:
        raise InputError(f"connection data of shapes {first.fibers.shape} and {second.fibers.shape}")
    fibers = first.fibers
    a, b = (fibers.matrix(connection_mask(one)) for one in (first, second))
    if format.kind == Kind.DIRECT:
        both = combine_direct(a, b)
    else:
        both = np.zeros(a.shape, np.bool_)
        for row in range(len(a)):
            strides = combine_strides(direct_to_strides(a[row]), direct_to_strides(b[row]))
            both[row] = strides_to_direct(strides, a.shape[1])
    mask = fibers.tensor(both)
    return encode_mask(mask, mask, format, fibers)


def compact(tensor: Array, connection: Encoded) -> Encoded:
    """The elements of a tensor that are connected, with that index. Raises InputError where the shapes differ."""
    if tensor.shape != connection.fibers.shape:
        raise InputError(f"tensor of shape {tensor.shape}, connection data of shape {connection.fibers.shape}")
    return encode_mask(tensor, connection_mask(connection), connection.format, connection.fibers)
