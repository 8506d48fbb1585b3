"""
Simulated annealing without tables: the change of a move is computed by a scan of the vertex's edges.

It is for graphs that are too large for a table, and for costs that are not sums over both axes, such as the cut.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph
from ..kernels.members import core_loads, member_table, move_member, swap_members
from ..kernels.random import random_below, random_unit
from .target import Cooling


def anneal_scanning(
    graph: Graph,
    core_of: Array,
    distance: Array,
    capacity: int,
    state: Array,
    cooling: Cooling,
) -> int:
    """
    Anneal `core_of` [n] in place, with temperatures in units of the mean weight at a vertex. Returns the change of the
    sum over edges of weight x `distance` [cores, cores] (symmetric).

    Vertices move to cores of their neighbours; no load that exceeds `capacity` grows.
    """
    unit = float(graph.data.sum()) / max(1, graph.vertices)
    if unit == 0:
        return 0
    return _anneal(
        graph.indptr,
        graph.indices,
        graph.data,
        graph.size,
        core_of,
        distance,
        capacity,
        cooling.hot * unit,
        cooling.cold * unit,
        int(cooling.sweeps * graph.vertices),
        state,
    )


@jit
def _gain(
    indptr: Array, indices: Array, data: Array, core_of: Array, distance: Array, v: int, to: int, other: int
) -> tuple[int, int]:
    """(change of the cost of v's edges by a move to core `to`, weight of its edge to `other`)"""
    here = distance[core_of[v]]
    there = distance[to]
    cost = 0
    between = 0
    for k in range(indptr[v], indptr[v + 1]):
        c = core_of[indices[k]]
        cost += data[k] * (there[c] - here[c])
        if indices[k] == other:
            between = data[k]
    return cost, between


@jit
def _anneal(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    core_of: Array,
    distance: Array,
    capacity: int,
    hot: float,
    cold: float,
    proposals: int,
    state: Array,
) -> int:
    n = core_of.size
    cores = distance.shape[0]
    members, counts, position = member_table(core_of, cores)
    load = core_loads(core_of, size, cores)
    temperature = hot
    change = 0
    for proposal in range(proposals):
        if proposal & 1023 == 0:
            temperature = hot * (cold / hot) ** (proposal / proposals)
        # Vertices are visited in the order of their numbers, for sequential memory access.
        v = proposal % n
        degree = indptr[v + 1] - indptr[v]
        if degree == 0:
            continue
        at = int(core_of[v])
        to = int(core_of[indices[indptr[v] + random_below(state, degree)]])
        if to == at:
            continue
        threshold = -temperature * np.log(1.0 - random_unit(state))
        if load[to] + size[v] <= capacity:
            cost, _ = _gain(indptr, indices, data, core_of, distance, v, to, -1)
            if cost > threshold or counts[to] >= members.shape[1]:
                continue
            change += cost
            load[at] -= size[v]
            load[to] += size[v]
            move_member(members, counts, position, core_of, v, to)
            continue
        if counts[to] == 0:
            continue
        u = int(members[to, random_below(state, counts[to])])
        more = size[v] - size[u]
        if (more > 0 and load[to] + more > capacity) or (more < 0 and load[at] - more > capacity):
            continue
        cost, between = _gain(indptr, indices, data, core_of, distance, v, to, u)
        back, _ = _gain(indptr, indices, data, core_of, distance, u, at, v)
        cost += back + 2 * between * distance[at, to]
        if cost > threshold:
            continue
        change += cost
        load[at] -= more
        load[to] += more
        swap_members(members, position, core_of, v, u)
    return change
