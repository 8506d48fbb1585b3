"""Spec 4, S6 to S8: placement of parts on cores, by bisecting the groups and a rectangle of cores together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, induced
from ..kernels.rectangle import choose_rectangle
from ..mesh import Mesh
from .bisect import bisect


def place(groups: Graph, mesh: Mesh, state: Array, *, tries: int = 4) -> Array:
    """
    Core of each group ([groups] int32), one group per core; the weights of `groups` are those between the parts.

    The rectangle is the most compact one with enough usable cores; cores beyond the number of groups are not used.
    """
    count = groups.vertices
    core_of = np.zeros(count, np.int32)
    local = np.full(count, -1, np.int32)
    # S3 counts groups here, not their sizes.
    groups = replace(groups, size=np.ones(count, np.int64))
    usable = choose_rectangle(mesh, count)
    stack = [(np.arange(count, dtype=np.int32), usable)]
    while stack:
        members, cores = stack.pop()
        if members.size == 0:
            continue
        if cores.size == 1:
            core_of[members] = cores
            continue
        first, second = halves(cores, mesh.width)
        # If there are more cores than groups, both halves hold a similar share of the groups.
        taken = max(min(members.size * first.size // cores.size, first.size), members.size - second.size)
        side = np.ones(members.size, np.int8)
        if taken == members.size:
            side[:] = 0
        elif taken > 0:
            side = bisect(induced(groups, members, local), taken, state, tries=tries)
        stack.append((members[side == 1], second))
        stack.append((members[side == 0], first))
    return core_of


def halves(cores: Array, width: int) -> tuple[Array, Array]:
    """The cores in the two halves of their bounding rectangle, which is cut across its longer side."""
    x, y = cores % width, cores // width
    along = x if x.max() - x.min() >= y.max() - y.min() else y
    middle = (int(along.min()) + int(along.max()) + 1) // 2
    first = along < middle
    return cores[first], cores[~first]
