"""Simulated annealing for costs that are sums over edges: weight x hops, or the cut."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.members import core_loads, member_table, move_member, swap_members
from ..kernels.random import random_below
from ..mesh import Mesh
from ..topology.topology import Topology
from .proposals import COOLING, TRIALS, accepted, choose_partner, propose_core


def anneal_edges(
    topology: Topology, core_of: Array, mesh: Mesh, capacity: int, moves: int, state: Array, *, cut: bool
) -> None:
    """
    Move and swap vertices at falling temperature; changes `core_of` [vertices]. With `cut`, all distances are 1 hop.
    """
    x, y = (np.zeros_like(mesh.x), np.zeros_like(mesh.y)) if cut else (mesh.x, mesh.y)
    rows = (topology.indptr, topology.indices, topology.data)
    _anneal(*rows, topology.size, core_of, mesh.usable, x, y, mesh.width, capacity, moves, state, 1 if cut else 0)


@jit
def _change(
    indptr: Array,
    indices: Array,
    data: Array,
    core_of: Array,
    x: Array,
    y: Array,
    flat: int,
    v: int,
    to: int,
    partner: int,
) -> int:
    """
    Change of the cost if `v` moves to core `to`; the edge to `partner`, which v is swapped with, keeps its length.
    """
    home = core_of[v]
    change = 0
    for k in range(indptr[v], indptr[v + 1]):
        if indices[k] == partner:
            continue
        c = core_of[indices[k]]
        after = abs(x[to] - x[c]) + abs(y[to] - y[c]) + flat * (to != c)
        change += data[k] * (after - abs(x[home] - x[c]) - abs(y[home] - y[c]) - flat * (home != c))
    return change


@jit
def _anneal(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    core_of: Array,
    usable: Array,
    x: Array,
    y: Array,
    width: int,
    capacity: int,
    moves: int,
    state: Array,
    flat: int,
) -> None:
    members, count, position = member_table(core_of, len(usable))
    load = core_loads(core_of, size, len(usable))
    temperature = 1.0
    cooling = 1.0
    tried, seen = 0, 0.0
    for move in range(moves):
        if move == TRIALS:
            temperature = max(seen / max(tried, 1), 1e-9)
            cooling = COOLING ** (1.0 / max(moves - TRIALS, 1))
        temperature *= cooling
        v = random_below(state, len(core_of))
        to = propose_core(state, indptr, indices, core_of, usable, width, v)
        if to < 0:
            continue
        u = choose_partner(state, members, count, load, size, core_of, capacity, v, to)
        if u == -2:
            continue
        home = core_of[v]
        change = _change(indptr, indices, data, core_of, x, y, flat, v, to, u)
        if u >= 0:
            change += _change(indptr, indices, data, core_of, x, y, flat, u, home, v)
        if move < TRIALS:
            tried += 1
            seen += abs(change)
            if change > 0:
                continue
        if accepted(state, change, temperature):
            if u >= 0:
                swap_members(members, position, core_of, v, u)
                load[home] += size[u] - size[v]
                load[to] += size[v] - size[u]
            else:
                load[home] -= size[v]
                load[to] += size[v]
                move_member(members, count, position, core_of, v, to)
