"""
Random numbers in kernels: xorshift64* (Vigna 2016) with a state that the caller owns.

All steps of a method use the same state, so one seed determines the whole run, independently of other random numbers.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


def random_state(seed: int) -> Array:
    """A state for `seed` (any integer); similar seeds give unrelated sequences."""
    return np.random.SeedSequence(abs(seed) * 2 + (seed < 0)).generate_state(1, np.uint64) | np.uint64(1)


@jit
def random_bits(state: Array) -> np.uint64:
    """64 random bits; advances `state` [1] uint64."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return x * np.uint64(2685821657736338717)


@jit
def random_below(state: Array, n: int) -> int:
    """A random integer in 0 .. n - 1, for n < 2^32; signed, as int64 + uint64 would be a float in a kernel."""
    below = ((random_bits(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return np.int64(below)  # pyright: ignore[reportReturnType]


@jit
def random_unit(state: Array) -> float:
    """A random number in [0, 1)."""
    return np.float64(random_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def shuffle(state: Array, order: Array) -> None:
    """Shuffle `order` in place (Fisher and Yates)."""
    for i in range(order.size - 1, 0, -1):
        j = random_below(state, i + 1)
        other = order[i]
        order[i] = order[j]
        order[j] = other


@jit
def random_order(state: Array, n: int) -> Array:
    """0 .. n - 1 in random order, int32."""
    order = np.arange(n).astype(np.int32)
    shuffle(state, order)
    return order
