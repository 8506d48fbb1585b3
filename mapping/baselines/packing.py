"""Packing of vertices into cores in a given order, within their capacity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...support.errors import MeshloomError
from ...support.jit import Array, jit


def pack(
    size: NDArray[np.int64], order: NDArray[np.int32], cores: NDArray[np.int32], capacity: int
) -> NDArray[np.int32]:
    """
    The core of each vertex, [vertices]: vertices in the given `order` fill the cores one after the other.

    A vertex that does not fit on the current core starts the next one; after the last core, the remaining vertices are
    put on the emptiest core, the largest first. Raises MeshloomError if a vertex fits on no core.
    """
    core_of, load, rest = _fill(size, order, cores, capacity)
    left = order[rest:]
    for vertex in left[np.argsort(-size[left], kind="stable")].tolist():
        position = int(load.argmin())
        if load[position] + size[vertex] > capacity:
            raise MeshloomError(
                f"vertex {vertex} of size {size[vertex]} fits on no core: the emptiest of {len(cores)} holds "
                f"{load[position]} of {capacity}; raise the capacity or use more cores"
            )
        load[position] += size[vertex]
        core_of[vertex] = cores[position]
    return core_of


@jit
def _fill(size: Array, order: Array, cores: Array, capacity: int) -> tuple[Array, Array, int]:
    """(core of each vertex, load of each of `cores`, number of vertices of `order` that have been placed)."""
    core_of = np.full(len(order), -1, np.int32)
    load = np.zeros(len(cores), np.int64)
    position = 0
    for at in range(len(order)):
        vertex = order[at]
        while load[position] + size[vertex] > capacity:
            position += 1
            if position == len(cores):
                return core_of, load, at
        load[position] += size[vertex]
        core_of[vertex] = cores[position]
    return core_of, load, len(order)
