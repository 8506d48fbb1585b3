"""
Simulated annealing of a mapping for little delivered multicast traffic.

The temperature is controlled such that the acceptance rate of worse proposals falls from one given value to another
(Lam and Delosme 1988). The changes of cost differ by a factor of a hundred between sparse networks and dense layers,
and between single vertices and clusters; acceptance rates suit all of them.

`held` [cores, nets] counts the pins of a net on a core: a move affects a net if a count becomes 0 or was 0. The costs
of a root on every core, which are sums over both axes as hops are, are kept in a table (see `hop_table`) that changes
when a net begins or ceases to reach a core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import group_members
from ..kernels.members import core_loads, member_table, move_member
from ..kernels.random import random_below, random_bits, random_unit
from ..mesh import Mesh
from .anneal import next_core
from .nets import Nets, permuted_nets
from .target import Cooling, Target

_BLOCK = 1024
"""Number of proposals between two changes of the temperature, and for its first measurement; a power of two."""

_LEAST_BLOCKS = 32
"""Least number of blocks of proposals, for small networks."""

_STEADY = 256
"""Weight of the expected acceptance rate, in proposals, when the rate of a block is measured."""


def delivered_traffic(nets: Nets, core_of: Array, mesh: Mesh) -> int:
    """Sum over nets and the cores of their pins of weight x hops from the root's core."""
    return _traffic(nets.root, nets.weight, nets.start, nets.pins, core_of, mesh.x, mesh.y)


@dataclass(frozen=True)
class Distances:
    """Distances between cores: the sum of a distance between columns and one between rows."""

    across: Array
    """[width, width] int64"""
    along: Array
    """[height, height] int64"""


def hop_distances(mesh: Mesh) -> Distances:
    """The hops between cores, with which `anneal_multicast` lowers the delivered traffic."""
    x, y = mesh.column_positions, mesh.row_positions
    return Distances(np.abs(x[:, None] - x), np.abs(y[:, None] - y))


def apart(cores: int) -> Distances:
    """
    Distances of 1 between any two cores, which are numbered in one row: the cost of a net is then the number of other
    cores that it reaches (its connectivity).
    """
    return Distances(1 - np.eye(cores, dtype=np.int64), np.zeros((1, 1), np.int64))


def traffic_between(nets: Nets, core_of: Array, cores: int) -> Array:
    """[cores, cores] int64: the weight that roots on the first core send to the second core, once for each net."""
    return _between(nets.root, nets.weight, nets.start, nets.pins, core_of, cores)


def anneal_multicast(
    nets: Nets,
    size: Array,
    core_of: Array,
    distances: Distances,
    target: Target,
    state: Array,
    cooling: Cooling,
) -> int:
    """
    Anneal `core_of` [n] in place. Returns the change of the sum, over nets and the cores of their pins, of weight x
    distance. The share of worse proposals that is accepted is `cooling.hot` at first and `cooling.cold` in the end. No
    load that exceeds the capacity grows.
    """
    across, along = distances.across, distances.along
    n = size.size
    if nets.pins.size == 0:
        return 0
    # Nets are numbered by the core of their root, so that the nets of a vertex are close in memory.
    nets = permuted_nets(nets, np.argsort(core_of[nets.root], kind="stable").astype(np.int32), n)
    root_start, rooted = group_members(nets.root, n)
    return _anneal(
        nets.root,
        nets.weight,
        nets.start,
        nets.pins,
        nets.of_start,
        nets.of,
        root_start,
        rooted,
        size,
        core_of,
        across,
        along,
        target.usable,
        target.capacity,
        cooling.hot,
        cooling.cold,
        max(cooling.sweeps * (n + 0.02 * nets.pins.size), 1.0 * _LEAST_BLOCKS * _BLOCK),
        state,
    )


@jit
def _between(root: Array, weight: Array, start: Array, pins: Array, core_of: Array, cores: int) -> Array:
    sent = np.zeros((cores, cores), np.int64)
    seen = np.full(cores, -1, np.int64)
    for e in range(root.size):
        for k in range(start[e], start[e + 1]):
            c = core_of[pins[k]]
            if seen[c] != e:
                seen[c] = e
                sent[core_of[root[e]], c] += weight[e]
    return sent


@jit
def _traffic(root: Array, weight: Array, start: Array, pins: Array, core_of: Array, x: Array, y: Array) -> int:
    seen = np.full(x.size, -1, np.int64)
    total = 0
    for e in range(root.size):
        r = core_of[root[e]]
        for k in range(start[e], start[e + 1]):
            c = core_of[pins[k]]
            if seen[c] != e:
                seen[c] = e
                total += weight[e] * (abs(x[c] - x[r]) + abs(y[c] - y[r]))
    return total


@jit
def _reach(table: Array, v: int, weight: int, core: int, across: Array, along: Array) -> None:
    """
    Update the table for a net of root v and weight `weight` that begins to reach `core` (or ceases to, with negative
    weight).
    """
    width = across.shape[0]
    x = core % width
    y = core // width
    for c in range(width):
        table[v, c] += weight * across[x, c]
    for r in range(along.shape[0]):
        table[v, width + r] += weight * along[y, r]


@jit
def _cost(
    root: Array,
    weight: Array,
    of_start: Array,
    of: Array,
    held: Array,
    table: Array,
    core_of: Array,
    across: Array,
    along: Array,
    v: int,
    to: int,
) -> int:
    """The change of traffic if v moved to core `to`."""
    width = across.shape[0]
    at = int(core_of[v])
    at_x = at % width
    at_y = at // width
    to_x = to % width
    to_y = to // width
    cost = table[v, to_x] + table[v, width + to_y] - table[v, at_x] - table[v, width + at_y]
    for k in range(of_start[v], of_start[v + 1]):
        e = of[k]
        leaves = held[at, e] == 1
        joins = held[to, e] == 0
        if leaves or joins:
            r = int(core_of[root[e]])
            x = r % width
            y = r // width
            if leaves:
                cost -= weight[e] * (across[x, at_x] + along[y, at_y])
            if joins:
                cost += weight[e] * (across[x, to_x] + along[y, to_y])
    return cost


@jit
def _move(
    root: Array,
    weight: Array,
    of_start: Array,
    of: Array,
    held: Array,
    table: Array,
    core_of: Array,
    across: Array,
    along: Array,
    members: Array,
    counts: Array,
    position: Array,
    v: int,
    to: int,
) -> None:
    at = int(core_of[v])
    move_member(members, counts, position, core_of, v, to)
    for k in range(of_start[v], of_start[v + 1]):
        e = of[k]
        held[at, e] -= 1
        if held[at, e] == 0:
            _reach(table, int(root[e]), -int(weight[e]), at, across, along)
        if held[to, e] == 0:
            _reach(table, int(root[e]), int(weight[e]), to, across, along)
        held[to, e] += 1


@jit
def _temperature(losses: Array, accepted: float) -> float:
    """The temperature at which a share `accepted` of such losses is accepted on average."""
    low = 0.0
    high = losses.max() / accepted
    for _ in range(40):
        middle = (low + high) / 2
        if np.exp(-losses / middle).mean() < accepted:
            low = middle
        else:
            high = middle
    return high


@jit
def _anneal(
    root: Array,
    weight: Array,
    net_start: Array,
    pins: Array,
    of_start: Array,
    of: Array,
    root_start: Array,
    rooted: Array,
    size: Array,
    core_of: Array,
    across: Array,
    along: Array,
    usable: Array,
    capacity: int,
    hot: float,
    cold: float,
    budget: float,
    state: Array,
) -> int:
    n = core_of.size
    width = across.shape[0]
    height = along.shape[0]
    cores = width * height
    held = np.zeros((cores, root.size), np.uint16)
    table = np.zeros((n, width + height), np.int64)
    for e in range(root.size):
        for k in range(net_start[e], net_start[e + 1]):
            c = int(core_of[pins[k]])
            if held[c, e] == 0:
                _reach(table, root[e], weight[e], c, across, along)
            held[c, e] += 1
    members, counts, position = member_table(core_of, cores)
    load = core_loads(core_of, size, cores)
    # The first block accepts no losses, but measures them.
    temperature = 0.0
    losses = np.empty(_BLOCK)
    seen = 0
    worse = 0
    accepted = 0
    work = 0.0
    change = 0
    proposal = 0
    while True:
        if proposal & (_BLOCK - 1) == 0:
            if work >= budget:
                break
            share = hot * (cold / hot) ** (work / budget)
            if temperature > 0.0:
                ratio = share * (_STEADY + worse) / (share * _STEADY + accepted)
                temperature *= np.sqrt(min(1.25, max(0.8, ratio)))
            elif seen > 0:
                temperature = _temperature(losses[:seen], share)
            worse = 0
            accepted = 0
        proposal += 1
        v = random_below(state, n)
        at = int(core_of[v])
        nets = of_start[v + 1] - of_start[v]
        outgoing = root_start[v + 1] - root_start[v]
        bits = int(random_bits(state) >> np.uint64(40))
        to = at
        # The proposed core is that of a root, of another pin of a net that has v as pin, of a pin of a net of v, or a
        # neighbouring core.
        choice = bits & 3
        if choice <= 1 and nets > 0:
            e = of[of_start[v] + random_below(state, nets)]
            if choice == 0:
                to = int(core_of[root[e]])
            else:
                to = int(core_of[pins[net_start[e] + random_below(state, int(net_start[e + 1] - net_start[e]))]])
        elif choice == 2 and outgoing > 0:
            e = rooted[root_start[v] + random_below(state, outgoing)]
            to = int(core_of[pins[net_start[e] + random_below(state, int(net_start[e + 1] - net_start[e]))]])
        else:
            to = next_core(at, (bits >> 2) & 3, width, height, usable)
        work += 1.0
        if to == at:
            continue
        work += 0.03 * nets
        threshold = -temperature * np.log(1.0 - random_unit(state))
        cost = _cost(root, weight, of_start, of, held, table, core_of, across, along, v, to)
        if load[to] + size[v] <= capacity:
            if cost > 0:
                worse += 1
                if seen < losses.size:
                    losses[seen] = cost
                    seen += 1
            if cost <= threshold and counts[to] < members.shape[1]:
                accepted += cost > 0
                load[at] -= size[v]
                load[to] += size[v]
                _move(root, weight, of_start, of, held, table, core_of, across, along, members, counts, position, v, to)
                change += cost
                work += 0.1 * nets
            continue
        if counts[to] == 0 or counts[to] >= members.shape[1] or counts[at] >= members.shape[1]:
            continue
        for _ in range(2):
            u = int(members[to, random_below(state, counts[to])])
            more = size[v] - size[u]
            if (more > 0 and load[to] + more > capacity) or (more < 0 and load[at] - more > capacity):
                continue
            work += 0.03 * (of_start[u + 1] - of_start[u])
            # For shared nets, the sum of the two separate gains is at least the gain of the swap.
            least = cost + _cost(root, weight, of_start, of, held, table, core_of, across, along, u, at)
            if least > 0:
                worse += 1
                if seen < losses.size:
                    losses[seen] = least
                    seen += 1
            if least > threshold:
                continue
            work += 0.1 * nets
            _move(root, weight, of_start, of, held, table, core_of, across, along, members, counts, position, v, to)
            both = cost + _cost(root, weight, of_start, of, held, table, core_of, across, along, u, at)
            if both > threshold:
                _move(root, weight, of_start, of, held, table, core_of, across, along, members, counts, position, v, at)
                work += 0.1 * nets
                continue
            _move(root, weight, of_start, of, held, table, core_of, across, along, members, counts, position, u, at)
            accepted += least > 0
            load[at] -= more
            load[to] += more
            change += both
            work += 0.1 * nets
            break
    return change
