"""Proposals of simulated annealing: another core for a vertex, a partner for a swap; temperatures and acceptance."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.random import random_below, random_unit

TRIALS = 500
"""Number of proposals whose mean change determines the first temperature."""
COOLING = 1e-3
"""The last temperature relative to the first."""


@jit
def propose_core(state: Array, indptr: Array, indices: Array, core_of: Array, usable: Array, width: int, v: int) -> int:
    """The core of a random neighbour of `v` in the graph, or a core beside it; -1: no proposal."""
    degree = indptr[v + 1] - indptr[v]
    to = int(core_of[v])
    if degree > 0:
        to = int(core_of[indices[indptr[v] + random_below(state, degree)]])
    if to == core_of[v] or random_below(state, 4) == 0:
        x, y = to % width, to // width
        way = random_below(state, 4)
        x += (way == 0) - (way == 1)
        y += (way == 2) - (way == 3)
        if x < 0 or x >= width or y < 0 or y >= len(usable) // width:
            return -1
        to = y * width + x
    return to if usable[to] and to != core_of[v] else -1


@jit
def choose_partner(
    state: Array, members: Array, count: Array, load: Array, size: Array, core_of: Array, capacity: int, v: int, to: int
) -> int:
    """
    A vertex of core `to` to exchange with `v`, such that both fit; -1: no exchange is needed, -2: none is possible.
    """
    if load[to] + size[v] <= capacity and count[to] < members.shape[1]:
        return -1
    if count[to] == 0:
        return -2
    u = members[to, random_below(state, count[to])]
    fits = load[to] - size[u] + size[v] <= capacity and load[core_of[v]] - size[v] + size[u] <= capacity
    return u if fits else -2


@jit
def accepted(state: Array, change: float, temperature: float) -> bool:
    """Metropolis criterion: accepts improvements always, others with a probability that falls with the temperature."""
    return change <= 0 or random_unit(state) < np.exp(-change / temperature)
