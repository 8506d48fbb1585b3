"""
The sparse dot product as a mapping unit and a multiplier compute it, one pair after the other.

It is the reference for the order of accumulation in sparse execution: ascending positions, one accumulator. A pair with
a zero adds only a zero to the dense sum; therefore sparse and dense sums of finite numbers are bit-identical.
"""

from __future__ import annotations

from .bits import Array
from .connection import combine, compact, connections
from .encode import Encoded, decode
from .index_formats import DIRECT


def accumulate(pairs: Array) -> Array:
    """The sum of `pairs` [n] in order, starting from +0, in their element type (rank 0)."""
    total = pairs.dtype.type(0)
    for pair in pairs:
        total = total + pair
    return total


def sparse_dot(neurons: Encoded, weights: Encoded) -> tuple[Array, int]:
    """
    The product of encoded tensors of one shape, and the number of pairs that were multiplied.

    The indices are combined, both inputs are compacted by the combination (claims 5, 17, 18), and the remaining
    elements are multiplied.
    """
    both = combine(connections(neurons), connections(weights), DIRECT)
    x, w = (compact(decode(one), both).values for one in (neurons, weights))
    return accumulate(x * w), len(x)
