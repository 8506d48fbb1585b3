"""Simulated annealing for delivered multicast traffic, with a table that counts each source's targets on each core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...support.jit import Array, jit
from ..kernels.members import core_loads, member_table, move_member
from ..kernels.random import random_below
from ..mesh import Mesh
from .proposals import COOLING, TRIALS, accepted, choose_partner, propose_core


@dataclass(frozen=True)
class Nets:
    """
    The nets of a network: each source with its targets. A target occurs once in a net, with its largest number of
    spikes; a source is not its own target.
    """

    indptr: Array
    """[n + 1] rows by source"""
    targets: Array
    spikes: Array
    in_indptr: Array
    """[n + 1] rows by target"""
    sources: Array
    even: Array
    """
    [n] whether all edges of a source have the same number of spikes; then the counts suffice to find the largest number
    of spikes into a core.
    """


def nets_of(indptr: NDArray[np.int64], targets: Array, spikes: Array) -> Nets:
    """The nets of directed edges (rows of ascending targets, with possible repetitions)."""
    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    first = np.ones(len(targets), bool)
    first[1:] = (source[1:] != source[:-1]) | (targets[1:] != targets[:-1])
    starts = np.flatnonzero(first)
    largest = np.maximum.reduceat(spikes, starts) if len(starts) else spikes
    source, target = source[starts], targets[starts]
    keep = source != target
    source, target, largest = source[keep], target[keep].astype(np.int32), largest[keep].astype(np.int64)
    n = len(indptr) - 1
    rows = _pointers(source, n)
    even = np.ones(n, bool)
    same = largest == largest[np.minimum(rows[source], max(len(largest) - 1, 0))] if len(largest) else np.ones(0, bool)
    even[source[~same]] = False
    by_target = np.argsort(target, kind="stable")
    return Nets(rows, target, largest, _pointers(target, n), source[by_target].astype(np.int32), even)


def _pointers(of: Array, n: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=n))]).astype(np.int64)


def anneal_multicast(
    nets: Nets, size: Array, core_of: Array, mesh: Mesh, capacity: int, moves: int, state: Array
) -> None:
    """Move and swap vertices at falling temperature; changes `core_of` [vertices]."""
    rows = (nets.indptr, nets.targets, nets.spikes, nets.in_indptr, nets.sources, nets.even)
    _anneal(*rows, size, core_of, mesh.usable, mesh.x, mesh.y, mesh.width, capacity, moves, state)


@jit
def _largest(indptr: Array, targets: Array, spikes: Array, core_of: Array, s: int, core: int, without: int) -> int:
    """The largest number of spikes from source `s` to a target on `core` other than `without`; -1 if there is none."""
    most = -1
    for k in range(indptr[s], indptr[s + 1]):
        if core_of[targets[k]] == core and targets[k] != without:
            most = max(most, spikes[k])
    return most


@jit
def _change(
    indptr: Array,
    targets: Array,
    spikes: Array,
    in_indptr: Array,
    sources: Array,
    even: Array,
    table: Array,
    core_of: Array,
    x: Array,
    y: Array,
    seen: Array,
    v: int,
    to: int,
) -> int:
    """Change of the delivered traffic if `v` moves to core `to`. `seen` [cores]: scratch, -1 before and after."""
    home = core_of[v]
    change = 0
    # v as a source: the distance to every core that it reaches changes.
    for k in range(indptr[v], indptr[v + 1]):
        c = core_of[targets[k]]
        if spikes[k] > seen[c]:
            hops = abs(x[to] - x[c]) + abs(y[to] - y[c]) - abs(x[home] - x[c]) - abs(y[home] - y[c])
            change += (spikes[k] - max(seen[c], 0)) * hops
            seen[c] = spikes[k]
    for k in range(indptr[v], indptr[v + 1]):
        seen[core_of[targets[k]]] = -1
    # v as a target: it may be the only target, or the one with the most spikes, on either core.
    for k in range(in_indptr[v], in_indptr[v + 1]):
        s = sources[k]
        c = core_of[s]
        if even[s]:
            own = spikes[indptr[s]]
            less = own if table[s, home] == 1 else 0
            more = own if table[s, to] == 0 else 0
        else:
            own = 0
            for j in range(indptr[s], indptr[s + 1]):
                if targets[j] == v:
                    own = spikes[j]
            less = max(own - max(_largest(indptr, targets, spikes, core_of, s, home, v), 0), 0)
            more = max(own - max(_largest(indptr, targets, spikes, core_of, s, to, v), 0), 0)
        change += more * (abs(x[to] - x[c]) + abs(y[to] - y[c]))
        change -= less * (abs(x[home] - x[c]) + abs(y[home] - y[c]))
    return change


@jit
def _move(
    in_indptr: Array,
    sources: Array,
    table: Array,
    members: Array,
    count: Array,
    position: Array,
    core_of: Array,
    load: Array,
    size: Array,
    v: int,
    to: int,
) -> None:
    home = core_of[v]
    for k in range(in_indptr[v], in_indptr[v + 1]):
        table[sources[k], home] -= 1
        table[sources[k], to] += 1
    load[home] -= size[v]
    load[to] += size[v]
    move_member(members, count, position, core_of, v, to)


@jit
def _anneal(
    indptr: Array,
    targets: Array,
    spikes: Array,
    in_indptr: Array,
    sources: Array,
    even: Array,
    size: Array,
    core_of: Array,
    usable: Array,
    x: Array,
    y: Array,
    width: int,
    capacity: int,
    moves: int,
    state: Array,
) -> None:
    cores = len(usable)
    members, count, position = member_table(core_of, cores)
    table = np.zeros((len(core_of), cores), np.int32)
    load = core_loads(core_of, size, cores)
    for v in range(len(core_of)):
        for k in range(in_indptr[v], in_indptr[v + 1]):
            table[sources[k], core_of[v]] += 1
    seen = np.full(cores, -1, np.int64)
    temperature = 1.0
    cooling = 1.0
    tried, total = 0, 0.0
    for move in range(moves):
        if move == TRIALS:
            temperature = max(total / max(tried, 1), 1e-9)
            cooling = COOLING ** (1.0 / max(moves - TRIALS, 1))
        temperature *= cooling
        v = random_below(state, len(core_of))
        if random_below(state, 2) == 0:
            to = propose_core(state, in_indptr, sources, core_of, usable, width, v)
        else:
            to = propose_core(state, indptr, targets, core_of, usable, width, v)
        if to < 0:
            continue
        u = choose_partner(state, members, count, load, size, core_of, capacity, v, to)
        if u == -2 or (u >= 0 and count[to] == members.shape[1]):
            continue
        home = core_of[v]
        rows = (indptr, targets, spikes, in_indptr, sources, even, table, core_of, x, y, seen)
        kept = (in_indptr, sources, table, members, count, position, core_of, load, size)
        change = _change(*rows, v, to)
        if u >= 0:  # the second change depends on the first, which is applied, and undone if the swap is not accepted
            _move(*kept, v, to)
            change += _change(*rows, u, home)
        if move < TRIALS:
            tried += 1
            total += abs(change)
        keep = change <= 0 if move < TRIALS else accepted(state, change, temperature)
        if keep:
            if u >= 0:
                _move(*kept, u, home)
            else:
                _move(*kept, v, to)
        elif u >= 0:
            _move(*kept, v, home)
