"""Spec 4, S3 and S4: recursive bisection until every part fits a core."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, induced
from .bisect import bisect


def partition(graph: Graph, capacity: int, cores: int, state: Array, *, tries: int = 4) -> tuple[Array, int]:
    """
    (part of each vertex, [n] int32; number of parts, at most `cores`).

    Each side gets half of the cores (rounded) and the corresponding share of the size, so that there are at most as
    many parts as cores; halving the size would give up to twice as many. A part may exceed the capacity by less than a
    vertex, see S5.
    """
    part = np.zeros(graph.vertices, np.int32)
    local = np.full(graph.vertices, -1, np.int32)
    count = 0
    stack = [(np.arange(graph.vertices, dtype=np.int32), cores)]
    while stack:
        vertices, share = stack.pop()
        total = int(graph.size[vertices].sum())
        if share == 1 or total <= capacity or vertices.size == 1:
            part[vertices] = count
            count += 1
            continue
        first = (share + 1) // 2
        side = bisect(induced(graph, vertices, local), total * first // share, state, tries=tries)
        stack.append((vertices[side == 1], share - first))
        stack.append((vertices[side == 0], first))
    return part, count
