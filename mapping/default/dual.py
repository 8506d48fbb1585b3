"""
Dual recursive bisection of mesh and graph with terminal propagation (Dunlop and Kernighan 1985).

Each rectangle of cores has a set of vertices. It is halved across its longer side, and its vertices are bisected; a
vertex is attracted to the half that is nearer to its neighbours outside of the rectangle, as far as their positions are
known. The hop cost is the sum, over all lines between columns or rows, of the weight that crosses the line, so each
bisection minimises the weight across one line.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, induced
from ..mesh import Mesh
from .bisect import bisect
from .target import Target


def dual_bisection(graph: Graph, target: Target, state: Array) -> Array:
    """
    Core of each vertex ([n] int32), one of the target's cores. If sizes do not allow an even division, cores may exceed
    their capacity by less than a vertex.
    """
    mesh, cores, capacity = target.mesh, target.cores, target.capacity
    n = graph.vertices
    core_of = np.full(n, cores[0], np.int32)
    # Positions in units of half a hop, so that the middle of a rectangle is an integer.
    at_x = np.full(n, mesh.x[cores].min() + mesh.x[cores].max(), np.int64)
    at_y = np.full(n, mesh.y[cores].min() + mesh.y[cores].max(), np.int64)
    local = np.full(n, -1, np.int32)
    stretches = [(np.arange(n, dtype=np.int32), cores)]
    while stretches:
        following: list[tuple[Array, Array]] = []
        for members, stretch in stretches:
            if members.size == 0:
                continue
            if stretch.size == 1:
                core_of[members] = stretch[0]
                continue
            along_x, first, second = _halves(stretch, mesh)
            at, position = (at_x, mesh.x) if along_x else (at_y, mesh.y)
            middle0 = int(position[first].min() + position[first].max())
            middle1 = int(position[second].min() + position[second].max())
            local[members] = 0
            pull = _pull(graph.indptr, graph.indices, graph.data, members, local, at, middle0, middle1)
            local[members] = -1
            part = graph if members.size == n else induced(graph, members, local)
            limit = (capacity * first.size, capacity * second.size)
            side = bisect(part, pull, limit, first.size / stretch.size, state)
            for half, cores_of_half in ((0, first), (1, second)):
                inside = members[side == half]
                x, y = mesh.x[cores_of_half], mesh.y[cores_of_half]
                at_x[inside] = x.min() + x.max()
                at_y[inside] = y.min() + y.max()
                following.append((inside, cores_of_half))
        stretches = following
    return core_of


def _halves(stretch: Array, mesh: Mesh) -> tuple[bool, Array, Array]:
    """(whether the line cuts the x axis, cores before and after the line that halves their number best)"""
    x, y = mesh.x[stretch], mesh.y[stretch]
    along_x = bool(x.max() - x.min() >= y.max() - y.min())
    along = x if along_x else y
    lines = np.unique(along)[1:]
    before = np.array([(along < line).sum() for line in lines])
    line = lines[np.abs(2 * before - stretch.size).argmin()]
    return along_x, stretch[along < line], stretch[along >= line]


@jit
def _pull(
    indptr: Array, indices: Array, data: Array, members: Array, inside: Array, at: Array, middle0: int, middle1: int
) -> Array:
    """
    Cost of each member on the second half minus that on the first, as weight across the line; `inside` [n] is -1 for
    other vertices.
    """
    pull = np.zeros(members.size, np.int64)
    for i in range(members.size):
        v = members[i]
        total = 0.0
        for k in range(indptr[v], indptr[v + 1]):
            u = indices[k]
            if inside[u] < 0:
                total += data[k] * np.float64(abs(at[u] - middle1) - abs(at[u] - middle0))
        pull[i] = int(np.rint(total / (middle1 - middle0)))
    return pull
