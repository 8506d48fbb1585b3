"""
Simulated annealing of a mapping for few hops: moves to cores with free capacity, otherwise swaps.

Few swaps with a random vertex of a full core are improvements. Hence cores may temporarily exceed their capacity at a
price per unit of size, which rises while a core is over its capacity and falls while it is below, like a Lagrange
multiplier.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import Graph, induced
from ..kernels.members import core_loads, member_table, move_member
from ..kernels.random import random_below, random_bits, random_unit
from .hop_table import hop_table
from .target import Cooling, Target

_CLOSED = 0.9
"""Share of the work after which no core may grow beyond its final limit."""

_PRICE = 5.0
"""Price, for a vertex of mean size and weight, on a core that exceeds its capacity by 100%."""

_RISE = 5.0
"""Increase of that price per sweep."""


def anneal(
    graph: Graph,
    core_of: Array,
    target: Target,
    state: Array,
    cooling: Cooling,
    limits: tuple[int, int] | None = None,
) -> int:
    """
    Anneal `core_of` [n] in place with temperatures in units of the mean weight at a vertex. Returns the change of the
    hop cost.

    No load that exceeds the capacity grows. If `limits` are given, the largest loads at first and in the end, they
    replace the capacity here, and loads over the capacity have a price.

    A sweep is the work of one proposal per vertex in which a fiftieth of the vertex's edges are visited. While many
    proposals are accepted, the temperature falls faster, so that most time is spent at temperatures at which few are.
    """
    mesh, capacity = target.mesh, target.capacity
    # Vertices are numbered by core, so that those that interact are close in memory.
    order = np.argsort(core_of, kind="stable").astype(np.int32)
    is_near = bool((core_of[:-1] <= core_of[1:]).all())
    near = graph if is_near else induced(graph, order, np.full(graph.vertices, -1, np.int32))
    placed = core_of[order]
    unit = float(graph.data.sum()) / max(1, graph.vertices)
    if unit == 0:
        return 0
    change = _anneal(
        near.indptr,
        near.indices,
        near.data,
        near.size,
        placed,
        mesh.column_positions,
        mesh.row_positions,
        target.usable,
        hop_table(near, placed, mesh),
        capacity,
        limits or (capacity, capacity),
        unit * graph.vertices / max(1, int(graph.size.sum())),
        cooling.hot * unit,
        cooling.cold * unit,
        cooling.sweeps * (graph.vertices + 0.02 * graph.indices.size),
        state,
    )
    core_of[order] = placed
    return change


@jit
def _move(
    indptr: Array,
    indices: Array,
    data: Array,
    width: int,
    positions: Array,
    column: Array,
    line: Array,
    shift: Array,
    table: Array,
    core_of: Array,
    members: Array,
    counts: Array,
    position: Array,
    v: int,
    to: int,
) -> None:
    """
    Move v to core `to`, and update the tables of its neighbours and the members of both cores.

    `column` and `line` [cores] are the indices of a core's two entries in a row of `table`, and `positions` [W + H] the
    positions of the columns and rows. `shift` [W + H] is scratch: what a weight of 1 adds to the costs of a neighbour.
    """
    at = int(core_of[v])
    move_member(members, counts, position, core_of, v, to)
    for entry in range(width):
        shift[entry] = abs(positions[entry] - positions[column[to]]) - abs(positions[entry] - positions[column[at]])
    for entry in range(width, shift.size):
        shift[entry] = abs(positions[entry] - positions[line[to]]) - abs(positions[entry] - positions[line[at]])
    first = width if column[at] == column[to] else 0
    last = width if line[at] == line[to] else shift.size
    shift = shift[first:last]
    for k in range(indptr[v], indptr[v + 1]):
        costs = table[indices[k], first:last]
        weight = data[k]
        for entry in range(shift.size):
            costs[entry] += weight * shift[entry]


@jit
def _weight_between(indptr: Array, indices: Array, data: Array, u: int, v: int) -> int:
    if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
        u, v = v, u
    for k in range(indptr[u], indptr[u + 1]):
        if indices[k] == v:
            return data[k]
    return 0


@jit
def next_core(core: int, direction: int, width: int, height: int, usable: Array) -> int:
    """The next usable core in one of four directions, or `core` itself if there is none."""
    x = core % width
    y = core // width
    step_x = (direction == 0) - (direction == 1)
    step_y = (direction == 2) - (direction == 3)
    while True:
        x += step_x
        y += step_y
        if x < 0 or x >= width or y < 0 or y >= height:
            return core
        if usable[y * width + x]:
            return y * width + x


@jit
def _hops_saved(table: Array, v: int, column: Array, line: Array, at: int, to: int) -> int:
    """Cost of v's edges on core `at` minus that on core `to`."""
    costs = table[v]
    here = int(costs[column[at]]) + int(costs[line[at]])
    return here - int(costs[column[to]]) - int(costs[line[to]])


@jit
def _is_accepted(cost: float, temperature: float, unit: float) -> bool:
    """
    The Metropolis criterion with the random number `unit` in [0, 1). Its logarithm, which is above -37, is rarely
    computed.
    """
    return cost <= 0 or (cost < 37.0 * temperature and cost <= -temperature * np.log(1.0 - unit))


@jit
def _set_prices(price: Array, steady: Array, load: Array, capacity: int, rate: float, rise: float) -> None:
    """
    Set the price of a unit of size on each core, [cores]: a part `steady` [cores] that changes with each call, in
    proportion to `rise`, and a part that depends on the load.
    """
    for core in range(price.size):
        over = load[core] - capacity
        steady[core] = max(0.0, steady[core] + rise * over)
        price[core] = max(0.0, steady[core] + rate * over)


@jit
def _anneal(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    core_of: Array,
    xs: Array,
    ys: Array,
    usable: Array,
    table: Array,
    capacity: int,
    limits: tuple[int, int],
    worth: float,
    hot: float,
    cold: float,
    budget: float,
    state: Array,
) -> int:
    """See `anneal`. `worth`: mean weight per unit of size."""
    n = core_of.size
    width = xs.size
    height = ys.size
    cores = width * height
    # There is no move to a core whose row of members is full.
    members, counts, position = member_table(core_of, cores)
    load = core_loads(core_of, size, cores)
    temperature = hot
    block = min(n, 4096)
    first = 0
    work = 0.0
    row_work = 0.1 + (width + height) / 600.0
    # A table, because divisions take longer than the rest of a proposal's arithmetic.
    column = np.empty(cores, np.int32)
    line = np.empty(cores, np.int32)
    beside = np.empty((cores, 4), np.int32)
    for core in range(cores):
        column[core] = core % width
        line[core] = width + core // width
        for direction in range(4):
            beside[core, direction] = next_core(core, direction, width, height, usable)
    positions = np.concatenate((xs, ys))
    shift = np.empty(width + height, table.dtype)
    price = np.zeros(cores)
    steady = np.zeros(cores)
    rate = _PRICE * worth / max(1, capacity)
    rise = _RISE * worth / max(1, capacity) * min(1.0, 1024 / n)
    limit = capacity
    change = 0
    proposal = 0
    left = 0
    while True:
        if proposal & 1023 == 0:
            if work >= budget:
                break
            temperature = hot * (cold / hot) ** (work / budget)
            open_for = max(0.0, 1.0 - work / budget / _CLOSED)
            limit = limits[1] + int((limits[0] - limits[1]) * open_for)
            if limits[0] > capacity:
                _set_prices(price, steady, load, capacity, rate, rise)
        if left == 0:
            # The next block of vertices, cyclically.
            first = first + block if first + block < n else 0
            left = block
        left -= 1
        proposal += 1
        work += 1.0
        v = first + random_below(state, min(block, n - first))
        at = int(core_of[v])
        bits = random_bits(state) >> np.uint64(40)
        degree = indptr[v + 1] - indptr[v]
        if bits & np.uint64(1) and degree > 0:
            to = int(core_of[indices[indptr[v] + random_below(state, degree)]])
        else:
            to = int(beside[at, np.int64((bits >> np.uint64(1)) & np.uint64(3))])
        if to == at:
            continue
        cost = -_hops_saved(table, v, column, line, at, to)
        unit = random_unit(state)
        dearer = price[to] - price[at]
        if load[to] + size[v] <= limit:
            if counts[to] < members.shape[1] and _is_accepted(cost + dearer * size[v], temperature, unit):
                load[at] -= size[v]
                load[to] += size[v]
                _move(
                    indptr,
                    indices,
                    data,
                    width,
                    positions,
                    column,
                    line,
                    shift,
                    table,
                    core_of,
                    members,
                    counts,
                    position,
                    v,
                    to,
                )
                if limits[0] > capacity:
                    price[at] = max(0.0, steady[at] + rate * (load[at] - capacity))
                    price[to] = max(0.0, steady[to] + rate * (load[to] - capacity))
                change += cost
                work += row_work * degree
            continue
        if counts[to] == 0:
            continue
        for _ in range(2):
            u = members[to, random_below(state, counts[to])]
            more = size[v] - size[u]
            if (more > 0 and load[to] + more > limit) or (more < 0 and load[at] - more > limit):
                continue
            both = cost - _hops_saved(table, u, column, line, to, at)
            if not _is_accepted(both + dearer * more, temperature, unit):
                continue
            # An edge between the two keeps its length; both changes count it as removed.
            hops = int(
                abs(positions[column[at]] - positions[column[to]]) + abs(positions[line[at]] - positions[line[to]])
            )
            both += 2 * hops * int(_weight_between(indptr, indices, data, u, v))
            if counts[to] >= members.shape[1] or counts[at] >= members.shape[1]:
                continue
            if not _is_accepted(both + dearer * more, temperature, unit):
                continue
            load[at] -= more
            load[to] += more
            _move(
                indptr,
                indices,
                data,
                width,
                positions,
                column,
                line,
                shift,
                table,
                core_of,
                members,
                counts,
                position,
                v,
                to,
            )
            _move(
                indptr,
                indices,
                data,
                width,
                positions,
                column,
                line,
                shift,
                table,
                core_of,
                members,
                counts,
                position,
                u,
                at,
            )
            change += both
            work += row_work * (degree + indptr[u + 1] - indptr[u])
            break
    return change
