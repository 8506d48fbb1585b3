"""
Combination of connection data: the pairs of neuron and weight that are both nonzero (spec 5, claims 7 to 10, 19, 20).

The first functions operate on the index of one fiber, as in the claims: a direct index is an array of 0 and 1, a
stride index an array of unlimited distances (the first from position 0). The others combine the indices of whole
tensors; fillers are stored, but are not connections.
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
    """The stride index of a direct index: the distances between its ones."""
    return np.diff(np.flatnonzero(bits), prepend=0)


def strides_to_direct(strides: Ints, length: int) -> NDArray[np.uint8]:
    """The direct index of a stride index. Raises InputError unless positions ascend below `length`."""
    positions = np.cumsum(strides)
    if len(strides) and (positions[-1] >= length or strides[0] < 0 or (strides[1:] < 1).any()):
        raise InputError(f"stride index {strides.tolist()}: expected ascending positions below {length}")
    bits = np.zeros(length, np.uint8)
    bits[positions] = 1
    return bits


def combine_direct(first: Bits, second: Bits) -> Bits:
    """The AND of two direct indices. Raises InputError if their lengths differ."""
    if len(first) != len(second):
        raise InputError(f"direct indices of {len(first)} and {len(second)} bits: expected equal lengths")
    return first & second


def combine_strides(first: Ints, second: Ints) -> Ints:
    """The common positions of two stride indices, as a stride index: by prefix sums, intersection and differences."""
    common = np.intersect1d(np.cumsum(first), np.cumsum(second), assume_unique=True)
    return np.diff(common, prepend=0)


def combine_mixed_direct(strides: Ints, bits: Bits) -> Bits:
    """The common positions of a stride index and a direct index, as a direct index (claims 9, 19)."""
    return combine_direct(strides_to_direct(strides, len(bits)), bits)


def combine_mixed_strides(strides: Ints, bits: Bits) -> Ints:
    """The common positions of a stride index and a direct index, as a stride index (claims 10, 20)."""
    return combine_strides(strides, direct_to_strides(bits))


def connection_mask(encoded: Encoded) -> Mask:
    """Which elements of the tensor (in its shape) are connected: those of stored groups that are not fillers."""
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
    """The connection data of a tensor: the same index with boolean values, False for fillers."""
    mask = connection_mask(encoded)
    return encode_mask(mask, mask, encoded.format, encoded.fibers)


def combine(first: Encoded, second: Encoded, format: Format) -> Encoded:
    """
    The common connections of both, as an index in `format`, with the fibers of the first.

    For a direct `format` the indices are combined by an AND of direct indices, otherwise as stride indices; both give
    the same connections. Raises InputError for tensors of different shapes.
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
    """The connected elements of a tensor, with the index of `connection`. Raises InputError if the shapes differ."""
    if tensor.shape != connection.fibers.shape:
        raise InputError(f"tensor of shape {tensor.shape}, connection data of shape {connection.fibers.shape}")
    return encode_mask(tensor, connection_mask(connection), connection.format, connection.fibers)
