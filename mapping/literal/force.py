"""Spec 4, S9: swaps of groups in the direction of the forces on them."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..mesh import Mesh


def relax(
    groups: Graph, core_of: Array, mesh: Mesh, *, share: float = 0.05, iterations: int = 1000, weighted: bool = True
) -> int:
    """
    Swap groups until no swap is an improvement, or for `iterations`; changes `core_of` [groups] in place. Returns the
    number of swaps.

    An edge of weight w between u at (x_u, y_u) and v pulls u with the force w (x_v - x_u, y_v - y_u), and v with the
    opposite force; without `weighted`, w is left out, as in the patent's formula. The cost of a swap is the change of
    the lengths of both groups' forces. In each iteration, a partner is sought for the `share` of the groups with the
    largest forces, anywhere on the side to which the force points.
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
def _forces(
    indptr: Array, indices: Array, data: Array, core_of: Array, x: Array, y: Array
) -> tuple[Array, Array, Array]:
    """(force on each group along x, along y, sum of the weights of its edges)"""
    n = core_of.size
    force_x = np.zeros(n, np.int64)
    force_y = np.zeros(n, np.int64)
    tied = np.zeros(n, np.int64)
    for u in range(n):
        for k in range(indptr[u], indptr[u + 1]):
            force_x[u] += data[k] * (x[core_of[indices[k]]] - x[core_of[u]])
            force_y[u] += data[k] * (y[core_of[indices[k]]] - y[core_of[u]])
            tied[u] += data[k]
    return force_x, force_y, tied


@jit
def _length(force_x: int, force_y: int) -> float:
    return np.sqrt(np.float64(force_x) * force_x + np.float64(force_y) * force_y)


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
    force_x, force_y, tied = _forces(indptr, indices, data, core_of, x, y)
    strength = np.empty(n, np.float64)
    for u in range(n):
        strength[u] = _length(int(force_x[u]), int(force_y[u]))
    order = np.argsort(-strength, kind="mergesort")
    to_u = np.zeros(n, np.int64)
    swaps = 0
    for i in range(count):
        u = int(order[i])
        at = int(core_of[u])
        fx = force_x[u]
        fy = force_y[u]
        for k in range(indptr[u], indptr[u + 1]):
            to_u[indices[k]] = data[k]
        best = -1
        best_cost = -1e-9
        # All cores on the side to which the force points, along x, along y, or between.
        for to in range(width * height):
            ahead_x = (to % width - at % width) * np.sign(fx)
            ahead_y = (to // width - at // width) * np.sign(fy)
            if ahead_x < 0 or ahead_y < 0 or (fx == 0 and to % width != at % width):
                continue
            v = group_at[to]
            if to == at or v < 0 or (fy == 0 and to // width != at // width):
                continue
            # Both groups move by the same distance in opposite directions; the edge between them is reversed.
            dx = x[to] - x[at]
            dy = y[to] - y[at]
            u_tied = tied[u] + to_u[v]
            v_tied = tied[v] + to_u[v]
            cost = _length(fx - u_tied * dx, fy - u_tied * dy)
            cost += _length(int(force_x[v] + v_tied * dx), int(force_y[v] + v_tied * dy))
            cost -= _length(fx, fy) + _length(int(force_x[v]), int(force_y[v]))
            if cost < best_cost:
                best = v
                best_cost = cost
        for k in range(indptr[u], indptr[u + 1]):
            to_u[indices[k]] = 0
        if best >= 0:
            to = int(core_of[best])
            for moved, old, new in ((u, at, to), (best, to, at)):
                core_of[moved] = new
                group_at[new] = moved
                force_x[moved] -= tied[moved] * (x[new] - x[old])
                force_y[moved] -= tied[moved] * (y[new] - y[old])
                for k in range(indptr[moved], indptr[moved + 1]):
                    force_x[indices[k]] += data[k] * (x[new] - x[old])
                    force_y[indices[k]] += data[k] * (y[new] - y[old])
            swaps += 1
    return swaps
