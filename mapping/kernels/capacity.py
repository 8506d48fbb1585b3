"""Repair of mappings in which cores exceed their capacity, with a small increase of cut or hops."""

from __future__ import annotations

import numpy as np

from ...support.errors import MeshloomError
from ...support.jit import Array, jit
from .graph import Graph


def check_capacity(size: Array, capacity: int, cores: int) -> None:
    """Raise MeshloomError if a vertex exceeds `capacity`, or all vertices together exceed that of `cores` cores."""
    largest = int(size.max(initial=0))
    if largest > capacity:
        raise MeshloomError(f"vertex {int(size.argmax())} has size {largest:,}, a core holds {capacity:,}")
    total = int(size.sum())
    if total > capacity * cores:
        raise MeshloomError(f"the vertices have size {total:,} together, {cores} cores hold {capacity * cores:,}")


def fit(graph: Graph, core_of: Array, x: Array, y: Array, cores: Array, capacity: int) -> None:
    """
    Move vertices out of overfull cores until every core holds at most `capacity`; `core_of` [n] changes in place.

    `cores` are the numbers of the cores that may be used, `x` and `y` [cores] the positions of all cores. Vertices move
    to the core with free capacity on which their edges are shortest; if sizes prevent that, all vertices are packed
    again, largest first, near their old core, or else by first fit. Raises MeshloomError if that fails, too.
    """
    load = np.bincount(core_of, graph.size, x.size).astype(np.int64)
    if (load <= capacity).all():
        return
    if not _spill(graph.indptr, graph.indices, graph.data, graph.size, core_of, x, y, cores, load, capacity):
        order = np.argsort(-graph.size, kind="stable")
        nowhere = np.zeros_like(x)
        if not _pack(graph.size, order, core_of, x, y, cores, capacity) and not _pack(
            graph.size, order, core_of, nowhere, nowhere, cores, capacity
        ):
            raise MeshloomError(
                f"found no way to pack vertices of sizes up to {int(graph.size.max()):,} into {cores.size} cores "
                f"of {capacity:,}: give more capacity or more cores"
            )


def cores_to_pack(size: Array, capacity: int, least: int, most: int) -> int:
    """
    The smallest number of cores, from `least` to `most`, into which first fit packs the vertices, largest first; `most`
    if none suffices.
    """
    largest, total = int(size.max(initial=0)), int(size.sum())
    order = np.argsort(-size, kind="stable")
    for count in range(least, most):
        # If a vertex fits nowhere, every core holds more than the capacity minus the largest vertex.
        if total <= count * (capacity - largest + 1):
            return count
        nowhere = np.zeros(count, np.int64)
        cores = np.arange(count, dtype=np.int32)
        if _pack(size, order, np.zeros(size.size, np.int32), nowhere, nowhere, cores, capacity):
            return count
    return most


def fit_merged(graph: Graph, core_of: Array, x: Array, y: Array, cores: Array, capacity: int) -> int:
    """
    As `fit`, for merged vertices, which may be too large for the capacity. Returns the smallest capacity from
    `capacity` on that they were fitted to.
    """
    largest = int(graph.size.max())
    for more in (0, largest // 8, largest // 2):
        moved = core_of.copy()
        load = np.bincount(core_of, graph.size, x.size).astype(np.int64)
        room = capacity + more
        if (load <= room).all() or _spill(
            graph.indptr, graph.indices, graph.data, graph.size, moved, x, y, cores, load, room
        ):
            core_of[:] = moved
            return room
    return capacity + largest


@jit
def _spill(
    indptr: Array,
    indices: Array,
    data: Array,
    size: Array,
    core_of: Array,
    x: Array,
    y: Array,
    cores: Array,
    load: Array,
    capacity: int,
) -> bool:
    n = core_of.size
    hops_now = np.empty(n, np.int64)
    count = 0
    spilling = np.empty(n, np.int32)
    for v in range(n):
        if load[core_of[v]] > capacity:
            at = core_of[v]
            weight = 0
            for k in range(indptr[v], indptr[v + 1]):
                weight += data[k] if core_of[indices[k]] == at else -data[k]
            hops_now[count] = weight
            spilling[count] = v
            count += 1
    # Vertices with the least edge weight to their core come first.
    for i in np.argsort(hops_now[:count], kind="mergesort"):
        v = spilling[i]
        at = core_of[v]
        if load[at] <= capacity or size[v] == 0:
            continue
        best = -1
        best_cost = 0
        for to in cores:
            if load[to] + size[v] > capacity:
                continue
            cost = 0
            if indptr[v + 1] - indptr[v] < 4096:
                for k in range(indptr[v], indptr[v + 1]):
                    other = core_of[indices[k]]
                    cost += data[k] * (abs(x[other] - x[to]) + abs(y[other] - y[to]))
            else:
                cost = abs(x[at] - x[to]) + abs(y[at] - y[to])
            if best < 0 or cost < best_cost:
                best = to
                best_cost = cost
        if best >= 0:
            load[at] -= size[v]
            load[best] += size[v]
            core_of[v] = best
    for c in range(load.size):
        if load[c] > capacity:
            return False
    return True


@jit
def _pack(size: Array, order: Array, core_of: Array, x: Array, y: Array, cores: Array, capacity: int) -> bool:
    """Move each vertex, in the given order, to the nearest core with free capacity. Returns whether all fit."""
    load = np.zeros(x.size, np.int64)
    for v in order:
        at = core_of[v]
        best = -1
        best_hops = 0
        for to in cores:
            if load[to] + size[v] <= capacity:
                hops = abs(x[at] - x[to]) + abs(y[at] - y[to])
                if best < 0 or hops < best_hops:
                    best = to
                    best_hops = hops
        if best < 0:
            return False
        load[best] += size[v]
        core_of[v] = best
    return True
