"""A table of the vertices on each core, for random selection in constant time."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


@jit
def member_table(core_of: Array, cores: int) -> tuple[Array, Array, Array]:
    """
    (members [cores, width], number of vertices on each core, position of each vertex in its row). The width is the
    number of vertices on the fullest core, plus the mean number.
    """
    count = np.zeros(cores, np.int64)
    for v in range(len(core_of)):
        count[core_of[v]] += 1
    room = min(count.max() + len(core_of) // cores + 16, max(len(core_of), 1))
    members = np.empty((cores, room), np.int32)
    position = np.empty(len(core_of), np.int32)
    count[:] = 0
    for v in range(len(core_of)):
        _put(members, count, position, core_of[v], v)
    return members, count, position


@jit
def move_member(members: Array, count: Array, position: Array, core_of: Array, v: int, to: int) -> None:
    """Move a vertex to another core's row, which must have a free entry."""
    home = core_of[v]
    count[home] -= 1
    last = members[home, count[home]]
    members[home, position[v]] = last
    position[last] = position[v]
    _put(members, count, position, to, v)
    core_of[v] = to


@jit
def swap_members(members: Array, position: Array, core_of: Array, v: int, u: int) -> None:
    """Swap two vertices."""
    members[core_of[v], position[v]] = u
    members[core_of[u], position[u]] = v
    position[v], position[u] = position[u], position[v]
    core_of[v], core_of[u] = core_of[u], core_of[v]


@jit
def core_loads(core_of: Array, size: Array, cores: int) -> Array:
    """[cores] int64: the sum of the sizes on each core."""
    load = np.zeros(cores, np.int64)
    for v in range(len(core_of)):
        load[core_of[v]] += size[v]
    return load


@jit
def _put(members: Array, count: Array, position: Array, core: int, v: int) -> None:
    members[core, count[core]] = v
    position[v] = count[core]
    count[core] += 1
