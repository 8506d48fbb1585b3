"""What is expected of neurons that are often zero: how many count, in one row and in neighbouring ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIGITS = 3
"""Of measured shares: more would only look exact."""
MAX_DOUBLINGS = 12
"""Rows of a tile are seldom more than 2 to this power."""


@dataclass(frozen=True)
class Nonzero:
    """
    Shares of the inputs of a product that are not zero: in a row (a sample, a place of a convolution), and in one at
    least of 2, 4, 8... neighbouring rows. Zeros come in clusters, so that the first number does not give the others.
    """

    shares: tuple[float, ...] = (1.0,)

    @property
    def density(self) -> float:
        """The share in a row."""
        return self.shares[0]

    @property
    def has_zeros(self) -> bool:
        """Whether zeros are expected at all."""
        return self.density < 1

    def met(self, rows: int) -> float:
        """The share of the inputs that count in one at least of so many neighbouring rows."""
        place = math.log2(max(1, rows))
        below = int(place)
        last = len(self.shares) - 1
        if below < last:
            low, high = self.shares[below : below + 2]
            return low + (place - below) * (high - low)
        # Beyond what is known, as if rows were independent of each other.
        return 1 - (1 - self.shares[last]) ** (rows / 2**last)


ALL_NONZERO = Nonzero()
"""Where no zeros are expected."""


def measured(counts: NDArray[np.bool_]) -> Nonzero:
    """Of neurons [inputs, rows] that count or do not, rows in the order in which a tile has them."""
    inputs, rows = counts.shape
    if not counts.size:
        return ALL_NONZERO
    shares = [_share(counts)]
    for _ in range(min(MAX_DOUBLINGS, rows.bit_length() - 1)):
        if shares[-1] == 1:
            break
        pairs = counts.shape[1] // 2
        counts = counts[:, : 2 * pairs].reshape(inputs, pairs, 2).max(axis=2)
        # Rows that are left over may have had more than others.
        shares.append(max(shares[-1], _share(counts)))
    return Nonzero(tuple(shares))


def _share(counts: NDArray[np.bool_]) -> float:
    return round(float(counts.mean()), DIGITS)
