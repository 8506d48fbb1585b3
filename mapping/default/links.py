"""
Simulated annealing that reduces the load of the busiest link under XY routing, with one message per edge.

The cost is the sum over links of (load / load of the busiest link)^6, a smooth approximation of the maximum.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, group_members
from ..kernels.members import core_loads
from ..kernels.random import random_below, random_unit
from ..method import Effort
from .target import Target

LINK_PROPOSALS = {Effort.FAST: 200_000, Effort.NORMAL: 2_000_000, Effort.HIGH: 10_000_000}
"""Number of proposed moves and swaps."""

_POWER = 6
"""Exponent of the loads: the busiest links dominate the sum."""

_HOT, _COLD = 0.06, 0.001
"""First and last temperature, in units of the cost of the mean weight at a vertex on the busiest link."""


def level_links(
    outgoing: Graph,
    incoming: Graph,
    core_of: Array,
    target: Target,
    state: Array,
    proposals: int,
) -> None:
    """
    Change `core_of` [n] in place by moves and swaps of single vertices, to the mapping found with the lowest load of
    the busiest link. No load of a core that exceeds the capacity grows.

    `outgoing` and `incoming` are the edges by sender and by receiver (both the undirected graph, if directions are not
    known).
    """
    mesh = target.mesh
    start, members = group_members(core_of, mesh.cores)
    _level(
        outgoing.indptr,
        outgoing.indices,
        outgoing.data,
        incoming.indptr,
        incoming.indices,
        incoming.data,
        outgoing.size,
        core_of,
        mesh.width,
        mesh.height,
        target.usable,
        start,
        members,
        target.capacity,
        proposals,
        state,
    )


@jit
def _send(links: Array, width: int, source: int, to: int, weight: int, scale: float) -> float:
    """Add `weight` to the links of the route between two cores. Returns the change of the sum of (scale x load)^6."""
    x = source % width
    y = source // width
    to_x = to % width
    to_y = to // width
    change = 0.0
    while x != to_x or y != to_y:
        at = y * width + x
        if x < to_x:
            direction = 0
            x += 1
        elif x > to_x:
            direction = 1
            x -= 1
        elif y > to_y:
            direction = 2
            y -= 1
        else:
            direction = 3
            y += 1
        before = links[direction, at]
        links[direction, at] = before + weight
        change += (scale * (before + weight)) ** _POWER - (scale * before) ** _POWER
    return change


@jit
def _shift(
    indptr: Array,
    indices: Array,
    data: Array,
    in_indptr: Array,
    in_indices: Array,
    in_data: Array,
    core_of: Array,
    links: Array,
    width: int,
    v: int,
    to: int,
    scale: float,
) -> float:
    """Move v to core `to`. Returns the change of the sum over the links."""
    at = int(core_of[v])
    change = 0.0
    for k in range(indptr[v], indptr[v + 1]):
        other = int(core_of[indices[k]])
        weight = int(data[k])
        change += _send(links, width, at, other, -weight, scale)
        change += _send(links, width, to, other, weight, scale)
    for k in range(in_indptr[v], in_indptr[v + 1]):
        other = int(core_of[in_indices[k]])
        weight = int(in_data[k])
        change += _send(links, width, other, at, -weight, scale)
        change += _send(links, width, other, to, weight, scale)
    core_of[v] = to
    return change


@jit
def _level(
    indptr: Array,
    indices: Array,
    data: Array,
    in_indptr: Array,
    in_indices: Array,
    in_data: Array,
    size: Array,
    core_of: Array,
    width: int,
    height: int,
    usable: Array,
    start: Array,
    members: Array,
    capacity: int,
    proposals: int,
    state: Array,
) -> None:
    n = core_of.size
    cores = width * height
    links = np.zeros((4, cores), np.int64)
    load = core_loads(core_of, size, cores)
    for v in range(n):
        for k in range(indptr[v], indptr[v + 1]):
            _send(links, width, int(core_of[v]), int(core_of[indices[k]]), int(data[k]), 0.0)
    busiest = links.max()
    if busiest == 0:
        return
    unit = _POWER * float(data.sum()) * 2.0 / n
    best = core_of.copy()
    best_busiest = busiest
    scale = 1.0 / busiest
    height = links.shape[1] // width
    every = max(1024, n // 4)
    temperature = 0.0
    # `members` is not updated, so a partner is used only if it is still on that core.
    for proposal in range(proposals):
        if proposal % every == 0:
            busiest = links.max()
            if busiest == 0:
                break
            if busiest < best_busiest:
                best_busiest = busiest
                best[:] = core_of
            scale = 1.0 / busiest
            temperature = unit * scale * _HOT * (_COLD / _HOT) ** (proposal / proposals)
        v = random_below(state, n)
        degree = int(indptr[v + 1] - indptr[v])
        gets = int(in_indptr[v + 1] - in_indptr[v])
        if degree + gets == 0:
            continue
        chosen = random_below(state, degree + gets)
        near = int(
            core_of[indices[indptr[v] + chosen] if chosen < degree else in_indices[in_indptr[v] + chosen - degree]]
        )
        at = int(core_of[v])
        x = at % width
        y = at // width
        if random_below(state, 4) == 0:
            # One step in a random direction, which changes the route.
            step = random_below(state, 4)
            x += (step == 0) - (step == 1)
            y += (step == 2) - (step == 3)
            if x < 0 or x >= width or y < 0 or y >= height:
                continue
        # One step towards the other end of the edge.
        elif x != near % width and (y == near // width or random_below(state, 2) == 0):
            x += 1 if near % width > x else -1
        elif y != near // width:
            y += 1 if near // width > y else -1
        to = y * width + x
        if to == at or not usable[to]:
            continue
        u = -1
        if load[to] + size[v] > capacity:
            if start[to + 1] == start[to]:
                continue
            u = int(members[start[to] + random_below(state, start[to + 1] - start[to])])
            more = size[v] - size[u]
            if core_of[u] != to or load[to] + more > capacity or load[at] - more > capacity:
                continue
        change = _shift(indptr, indices, data, in_indptr, in_indices, in_data, core_of, links, width, v, to, scale)
        if u >= 0:
            change += _shift(indptr, indices, data, in_indptr, in_indices, in_data, core_of, links, width, u, at, scale)
        if change > -temperature * np.log(1.0 - random_unit(state)):
            _shift(indptr, indices, data, in_indptr, in_indices, in_data, core_of, links, width, v, at, scale)
            if u >= 0:
                _shift(indptr, indices, data, in_indptr, in_indices, in_data, core_of, links, width, u, to, scale)
            continue
        load[at] -= size[v]
        load[to] += size[v]
        if u >= 0:
            load[at] += size[u]
            load[to] -= size[u]
    if links.max() >= best_busiest:
        core_of[:] = best
