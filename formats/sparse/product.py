"""
The sparse dot product that a mapping unit and a multiplier make, one pair after the other.

This is the order of accumulation that sparse execution is measured against: ascending positions, one accumulator. A
pair in which one side is zero adds nothing but a zero to the dense sum, so that for finite numbers both are equal to
the last bit.
"""

from __future__ import annotations

from .bits import Array
from .connection import combine, compact, connections
from .encode import Encoded, decode
from .index_formats import DIRECT


def accumulate(pairs: Array) -> Array:
    """The sum of [n] in order, from +0, in the element type of the pairs (of rank 0)."""
    total = pairs.dtype.type(0)
    for pair in pairs:
        total = total + pair
    return total


def sparse_dot(neurons: Encoded, weights: Encoded) -> tuple[Array, int]:
    """
    The product of encoded tensors of one shape, and the number of pairs that were multiplied.

    Both indices are combined, both inputs compacted by the combination (claims 5, 17, 18), and what is left multiplied.
    """
    both = combine(connections(neurons), connections(weights), DIRECT)
    x, w = (compact(decode(one), both).values for one in (neurons, weights))
    return accumulate(x * w), len(x)
