"""Random numbers of a minimal standard generator, as ONNX Runtime draws them on Linux: equal seeds, equal numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MULTIPLIER, MODULUS = 16807, 2**31 - 1
"""x -> 16807 x mod (2^31 - 1): S. K. Park, K. W. Miller, "Random number generators: good ones are hard to find",
Communications of the ACM 31 (1988), the `minstd_rand0` of C++."""


class MinimalStandard:
    """A generator with its state."""

    def __init__(self, seed: int) -> None:
        """`seed`: taken modulo 2^31 - 1; 0 counts as 1."""
        self._state = seed % MODULUS or 1

    def _draw(self, count: int) -> NDArray[np.float64]:
        """[count] the next numbers, less 1: 0 to 2^31 - 3."""
        numbers = np.empty(count + 1, np.uint64)
        numbers[0] = self._state
        known, power = 1, MULTIPLIER
        while known <= count:  # the numbers after n known ones are these times 16807^n
            more = min(known, count + 1 - known)
            numbers[known : known + more] = numbers[:more] * np.uint64(power) % np.uint64(MODULUS)
            known, power = known + more, power * power % MODULUS
        self._state = int(numbers[-1])
        return numbers[1:].astype(np.float64) - 1

    def floats(self, count: int) -> NDArray[np.float32]:
        """[count] numbers uniform in [0, 1), one draw each."""
        drawn = self._draw(count).astype(np.float32) / np.float32(MODULUS - 1)
        return np.minimum(drawn, np.nextafter(np.float32(1), np.float32(0)))

    def doubles(self, count: int) -> NDArray[np.float64]:
        """[count] numbers uniform in [0, 1), two draws each."""
        low, high = self._draw(2 * count).reshape(count, 2).T
        span = float(MODULUS - 1)
        return np.minimum((low + high * span) / (span * span), np.nextafter(1.0, 0.0))

    def normals(self, count: int, *, double: bool = False) -> NDArray[np.float32] | NDArray[np.float64]:
        """
        [count] numbers of the standard normal distribution, by the polar method: of each point that is uniform in the
        unit disc (G. Marsaglia, T. A. Bray, "A convenient method for generating normal variables", SIAM Review 6,
        1964), y first.
        """
        pairs, missing = [np.empty((0, 2))], (count + 1) // 2
        while missing > 0:
            drawn = self.doubles(2 * missing) if double else self.floats(2 * missing)
            points = drawn.reshape(-1, 2) * 2 - 1
            square = np.square(points).sum(axis=1)
            inside = (square <= 1) & (square != 0)
            points, square = points[inside], square[inside]
            pairs.append((points * np.sqrt(-2 * np.log(square) / square)[:, None])[:, ::-1])
            missing -= len(points)
        numbers = np.concatenate(pairs).reshape(-1)[:count]
        return numbers if double else numbers.astype(np.float32)
