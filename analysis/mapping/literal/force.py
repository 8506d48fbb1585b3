"""Spec 4, S9: swap groups in the direction of the force on them."""

from __future__ import annotations

import numpy as np

from ..kernels.graph import Graph
from ..kernels.jit import Array, jit
from ..mesh import Mesh


def relax(
    groups: Graph, core_of: Array, mesh: Mesh, *, share: float = 0.05, iterations: int = 1000, weighted: bool = True
) -> int:
    """
    Swap groups until no swap gains, or for `iterations`; `core_of` [groups] changes in place. Swaps done.

    An edge of weight w between u at (x_u, y_u) and v pulls u by w (x_v - x_u, y_v - y_u) and v the other way; without
    `weighted`, w is left out, as the patent's formula leaves it out. The cost of a swap is the change of the lengths of
    both groups' forces. In each iteration the `share` of the groups with the largest forces look for a partner,
    anywhere on the side where the force points.
    """
    data = groups.data if weighted else np.ones_like(groups.data)
    group_at = np.full(mesh.cores, -1, np.int32)
    group_at[core_of] = np.arange(groups.vertices)
    count = max(1, int(share * groups.vertices))
    swaps = 0
    for _ in range(iterations):
        done = _iteration(
            groups.indptr, groups.indices, data, core_of, group_at, mesh.x, mesh.y, mesh.width, mesh.height, count
        )
        if done == 0:
            break
        swaps += done
    return swaps


@jit
def _force(
    indptr: Array, indices: Array, data: Array, core_of: Array, x: Array, y: Array, u: int, at: int, v: int, v_at: int
) -> float:
    """Length of the force on u if it were on core `at`, and v on core `v_at`."""
    fx = 0
    fy = 0
    for k in range(indptr[u], indptr[u + 1]):
        other = core_of[indices[k]]
        if indices[k] == v:
            other = v_at
        fx += data[k] * (x[other] - x[at])
        fy += data[k] * (y[other] - y[at])
    return np.sqrt(np.float64(fx) * fx + np.float64(fy) * fy)


@jit
def _iteration(
    indptr: Array,
    indices: Array,
    data: Array,
    core_of: Array,
    group_at: Array,
    x: Array,
    y: Array,
    width: int,
    height: int,
    count: int,
) -> int:
    n = core_of.size
    strength = np.empty(n, np.float64)
    for u in range(n):
        strength[u] = _force(indptr, indices, data, core_of, x, y, u, core_of[u], u, core_of[u])
    order = np.argsort(-strength, kind="mergesort")
    swaps = 0
    for i in range(count):
        u = int(order[i])
        at = int(core_of[u])
        fx = 0
        fy = 0
        for k in range(indptr[u], indptr[u + 1]):
            other = core_of[indices[k]]
            fx += data[k] * (x[other] - x[at])
            fy += data[k] * (y[other] - y[at])
        own = np.sqrt(np.float64(fx) * fx + np.float64(fy) * fy)
        column = at % width
        row = at // width
        best = -1
        best_cost = -1e-9
        # Everything on the side where the force points, along x, along y, or between.
        for to in range(width * height):
            ahead_x = (to % width - column) * np.sign(fx)
            ahead_y = (to // width - row) * np.sign(fy)
            if ahead_x < 0 or ahead_y < 0 or (fx == 0 and to % width != column) or (fy == 0 and to // width != row):
                continue
            v = group_at[to]
            if to == at or v < 0:
                continue
            before = own + strength[v]
            after = _force(indptr, indices, data, core_of, x, y, u, to, v, at)
            after += _force(indptr, indices, data, core_of, x, y, v, at, u, to)
            if after - before < best_cost:
                best = v
                best_cost = after - before
        if best >= 0:
            to = core_of[best]
            core_of[best] = at
            core_of[u] = to
            group_at[at] = best
            group_at[to] = u
            swaps += 1
            for moved in (u, best):
                strength[moved] = _force(
                    indptr, indices, data, core_of, x, y, moved, core_of[moved], moved, core_of[moved]
                )
                for k in range(indptr[moved], indptr[moved + 1]):
                    v = int(indices[k])
                    strength[v] = _force(indptr, indices, data, core_of, x, y, v, core_of[v], v, core_of[v])
    return swaps
