"""
The hypergraph of sources and targets, by which multicast traffic is computed.

A net has a root and pins. Each core that holds pins receives the net's weight once, over the hops from the root's core.
A source that sends different numbers of spikes t_1 < t_2 < ... becomes several nets: the net of weight t_1 has all
targets as pins, the next one, of weight t_2 - t_1, the targets that receive at least t_2, and so on. Each core thereby
receives the largest number of its targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import group_members
from ..kernels.random import random_order

LEVELS = 8
"""
Largest number of nets of a source; a source with more different numbers of spikes is approximated by this many steps of
about equal height.
"""

_CLIQUE = 400
"""
Of the nets of a vertex with more pins, only the first is used, and only if smaller nets give no preference: the nets of
a fully connected layer are all the same.
"""


@dataclass(frozen=True)
class Nets:
    """A hypergraph whose nets have a root."""

    root: Array
    """[nets] int32, ascending"""
    weight: Array
    """[nets] int64"""
    start: Array
    """[nets + 1] int64: index of the first pin of each net"""
    pins: Array
    """[p] int32, each vertex at most once in a net, never the root"""
    of_start: Array
    """[n + 1] int64: index in `of` of the first net of each vertex"""
    of: Array
    """[p] int32: the nets that have a vertex as pin"""

    @property
    def count(self) -> int:
        """Number of nets."""
        return self.root.size


def nets_of(indptr: Array, indices: Array, spikes: Array) -> Nets:
    """The nets of directed edges (rows by source, as in `Topology`)."""
    root, weight, start, pins = _layers(indptr, indices, spikes, LEVELS)
    return _with_inverse(root, weight, start, pins, indptr.size - 1)


def merge_nets(nets: Nets, coarse_of: Array, count: int) -> Nets:
    """The nets of merged vertices: equal nets become one, and nets within a single vertex are dropped."""
    root, weight, start, pins = _merged(nets.root, nets.weight, nets.start, nets.pins, coarse_of, count)
    return _with_inverse(root, weight, start, pins, count)


def permuted_nets(nets: Nets, order: Array, vertices: int) -> Nets:
    """The same nets in another order, `order` [nets] of their numbers; roots are not ascending any more."""
    start, pins = _permuted(nets.start, nets.pins, order)
    return _with_inverse(nets.root[order], nets.weight[order], start, pins, vertices)


def shared_nets(
    nets: Nets, size: Array, size_limit: int, state: Array, *, within: Array | None = None
) -> tuple[Array, int]:
    """
    (coarse vertex of each vertex, [n] int32; their number): each vertex joins the cluster with which it shares the most
    weight of nets, each counted as weight / (pins), as long as the cluster stays within `size_limit`. With `within`
    [n], only vertices of equal `within` are merged, which preserves a mapping.
    """
    order = random_order(state, size.size)
    root_start, rooted = group_members(nets.root, size.size)
    group = np.zeros(size.size, np.int32) if within is None else within
    return _join(
        nets.root,
        nets.weight,
        nets.start,
        nets.pins,
        nets.of_start,
        nets.of,
        root_start,
        rooted,
        size,
        size_limit,
        order,
        group,
    )


def _with_inverse(root: Array, weight: Array, start: Array, pins: Array, vertices: int) -> Nets:
    of_start, of = _inverse(start, pins, vertices)
    return Nets(root, weight, start, pins, of_start, of)


@jit
def _permuted(start: Array, pins: Array, order: Array) -> tuple[Array, Array]:
    new_start = np.zeros(order.size + 1, np.int64)
    new_pins = np.empty(pins.size, np.int32)
    out = 0
    for i in range(order.size):
        for k in range(start[order[i]], start[order[i] + 1]):
            new_pins[out] = pins[k]
            out += 1
        new_start[i + 1] = out
    return new_start, new_pins


@jit
def _inverse(start: Array, pins: Array, vertices: int) -> tuple[Array, Array]:
    of_start = np.zeros(vertices + 1, np.int64)
    for k in range(pins.size):
        of_start[pins[k] + 1] += 1
    for v in range(vertices):
        of_start[v + 1] += of_start[v]
    at = of_start[:-1].copy()
    of = np.empty(pins.size, np.int32)
    for e in range(start.size - 1):
        for k in range(start[e], start[e + 1]):
            of[at[pins[k]]] = e
            at[pins[k]] += 1
    return of_start, of


@jit
def _layers(indptr: Array, indices: Array, spikes: Array, levels: int) -> tuple[Array, Array, Array, Array]:
    n = indptr.size - 1
    count = 0
    out = 0
    most = 0
    # Two passes: one to count nets and pins, one to write them.
    root = np.empty(0, np.int32)
    weight = np.empty(0, np.int64)
    start = np.zeros(1, np.int64)
    pins = np.empty(0, np.int32)
    largest = np.zeros(n, np.int64)
    for step in range(2):
        if step == 1:
            root = np.empty(count, np.int32)
            weight = np.empty(count, np.int64)
            start = np.zeros(count + 1, np.int64)
            pins = np.empty(out, np.int32)
        count = 0
        out = 0
        for u in range(n):
            most = 0
            targets = np.empty(indptr[u + 1] - indptr[u], np.int32)
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if v != u and spikes[k] > 0:
                    if largest[v] == 0:
                        targets[most] = v
                        most += 1
                    largest[v] = max(largest[v], spikes[k])
            values = np.empty(most, np.int64)
            for i in range(most):
                values[i] = largest[targets[i]]
            values = np.unique(values)
            if values.size > levels:
                values = values[(np.arange(levels) * values.size) // levels]
            below = 0
            for i in range(values.size):
                value = values[i]
                if step == 1:
                    root[count] = u
                    weight[count] = value - below
                for j in range(most):
                    if largest[targets[j]] >= value:
                        if step == 1:
                            pins[out] = targets[j]
                        out += 1
                count += 1
                if step == 1:
                    start[count] = out
                below = value
            for i in range(most):
                largest[targets[i]] = 0
    return root, weight, start, pins


@jit
def _merged(
    root: Array, weight: Array, start: Array, pins: Array, coarse_of: Array, count: int
) -> tuple[Array, Array, Array, Array]:
    nets = root.size
    fine_root = np.empty(nets, np.int32)
    for e in range(nets):
        fine_root[e] = coarse_of[root[e]]
    first, order = group_members(fine_root, count)
    new_root = np.empty(nets, np.int32)
    new_weight = np.empty(nets, np.int64)
    new_start = np.zeros(nets + 1, np.int64)
    new_pins = np.empty(pins.size, np.int32)
    hashes = np.empty(nets, np.uint64)
    seen = np.full(count, -1, np.int64)
    made = 0
    out = 0
    for r in range(count):
        first_of_root = made
        for i in range(first[r], first[r + 1]):
            e = order[i]
            begin = out
            code = np.uint64(0)
            for k in range(start[e], start[e + 1]):
                v = coarse_of[pins[k]]
                if v != r and seen[v] != e:
                    seen[v] = e
                    new_pins[out] = v
                    out += 1
                    mixed = (np.uint64(v) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
                    mixed ^= mixed >> np.uint64(29)
                    code += mixed * np.uint64(0xBF58476D1CE4E5B9)
            if out == begin:
                continue
            # There may be a net with the same pins: nets of equal hash are compared pin by pin (`seen` marks the pins
            # of this net).
            same = -1
            for f in range(first_of_root, made):
                if hashes[f] == code and new_start[f + 1] - new_start[f] == out - begin:
                    equal = True
                    for k in range(new_start[f], new_start[f + 1]):
                        if seen[new_pins[k]] != e:
                            equal = False
                            break
                    if equal:
                        same = f
                        break
            if same >= 0:
                new_weight[same] += weight[e]
                out = begin
            else:
                new_root[made] = r
                new_weight[made] = weight[e]
                hashes[made] = code
                made += 1
                new_start[made] = out
    return new_root[:made].copy(), new_weight[:made].copy(), new_start[: made + 1].copy(), new_pins[:out].copy()


@jit
def _join(
    root: Array,
    weight: Array,
    start: Array,
    pins: Array,
    of_start: Array,
    of: Array,
    root_start: Array,
    rooted: Array,
    size: Array,
    size_limit: int,
    order: Array,
    within: Array,
) -> tuple[Array, int]:
    n = size.size
    leader = np.arange(n).astype(np.int32)
    alone = np.ones(n, np.bool_)
    held = size.copy()
    rating = np.zeros(n, np.float64)
    touched = np.empty(n, np.int32)
    for i in range(n):
        u = order[i]
        if not alone[u]:
            continue
        count = 0
        own = of_start[u + 1] - of_start[u]
        has_preference = False
        for j in range(own + root_start[u + 1] - root_start[u]):
            e = of[of_start[u] + j] if j < own else rooted[root_start[u] + j - own]
            length = start[e + 1] - start[e]
            if length > _CLIQUE:
                if j >= own or has_preference:
                    continue
            has_preference = True
            share = weight[e] / np.float64(length)
            for k in range(start[e], start[e + 1] + 1):
                v = leader[pins[k]] if k < start[e + 1] else leader[root[e]]
                if rating[v] == 0.0:
                    touched[count] = v
                    count += 1
                rating[v] += share
        best = -1
        best_rating = 0.0
        for j in range(count):
            v = touched[j]
            if v != u and within[v] == within[u] and held[v] + size[u] <= size_limit:
                # Small clusters are preferred, so that all grow evenly.
                value = rating[v] / np.float64(held[v] + 1)
                if value > best_rating:
                    best = v
                    best_rating = value
        for j in range(count):
            rating[touched[j]] = 0.0
        if best >= 0:
            leader[u] = best
            held[best] += size[u]
            alone[u] = False
            alone[best] = False
    number = np.full(n, -1, np.int32)
    made = 0
    for v in range(n):
        if leader[v] == v:
            number[v] = made
            made += 1
    coarse_of = np.empty(n, np.int32)
    for v in range(n):
        coarse_of[v] = number[leader[v]]
    return coarse_of, made
