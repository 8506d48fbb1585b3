"""
The messages of one step of a mapped network: the spikes that each core sends to sets of other cores.

A source sends its spikes to the other cores that hold its targets in one multicast, or in several if the cores get
different numbers of spikes (the common number to all, then the remainder to some). All spikes from one core to one set
of cores form one message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..support.jit import Array, jit
from .mesh import Mesh
from .metrics.multicast import directed_edges
from .topology.topology import Topology

MOST_SETS = 1 << 15
"""
Largest number of sets of cores that messages are multicast to: those that save the most. Other spikes are unicast, one
message for each pair of cores.
"""


@dataclass(frozen=True)
class Messages:
    """
    Messages, each from a sender (core number) to a set of other cores; no two messages have the same sender and set.
    """

    sender: NDArray[np.int64]
    """[messages] ascending"""
    set_of: NDArray[np.int64]
    """[messages] number of the set"""
    spikes: NDArray[np.int64]
    """[messages] number of spikes, the same for all cores of the set"""
    sets: NDArray[np.bool_]
    """[sets, cores] whether a core belongs to the set"""

    def received(self) -> NDArray[np.int64]:
        """[cores] spikes that reach each core."""
        to_set = np.zeros(len(self.sets), np.int64)
        np.add.at(to_set, self.set_of, self.spikes)
        return np.array([to_set[members].sum() for members in self.sets.T], np.int64)

    def sent(self) -> NDArray[np.int64]:
        """[cores] spikes that leave each core; those of a multicast count once."""
        total = np.zeros(self.sets.shape[1], np.int64)
        np.add.at(total, self.sender, self.spikes)
        return total


def messages_of(
    topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32], most_sets: int = MOST_SETS
) -> Messages:
    """The messages of a mapping. Raises InputError if the topology has no directed edges."""
    indptr, targets, spikes = directed_edges(topology)
    # The hash of a set is the sum of random numbers of its cores, modulo 2^64.
    marks = np.random.default_rng(0).integers(1, 1 << 63, mesh.cores, np.int64).view(np.uint64)
    sender, mark, amount, start, members = _multicasts(indptr, targets, spikes, core_of_vertex, marks)
    names, first, number = np.unique(mark, return_index=True, return_inverse=True)
    sizes = np.diff(start)[first]
    saved = np.bincount(number, amount, minlength=len(names)) * (sizes - 1)
    kept = np.zeros(len(names), np.bool_)
    several = np.flatnonzero(sizes > 1)
    kept[several[np.argsort(-saved[several], kind="stable")[:most_sets]]] = True
    # Multicast sets come first, then single cores.
    set_number = np.cumsum(kept) - 1
    sets = np.zeros((int(kept.sum()) + mesh.cores, mesh.cores), np.bool_)
    for name in np.flatnonzero(kept):
        sets[set_number[name], members[start[first[name]] : start[first[name] + 1]]] = True
    sets[len(sets) - mesh.cores :] = np.eye(mesh.cores, dtype=np.bool_)
    whole = kept[number]
    counts = np.diff(start)
    apart = np.repeat(~whole, counts)
    one_by_one = np.repeat(np.flatnonzero(~whole), counts[~whole])
    senders = np.concatenate([sender[whole], sender[one_by_one]])
    numbers = np.concatenate([set_number[number[whole]], len(sets) - mesh.cores + members[apart]])
    amounts = np.concatenate([amount[whole], amount[one_by_one]])
    key, position = np.unique(senders * len(sets) + numbers, return_inverse=True)
    total = np.zeros(len(key), np.int64)
    np.add.at(total, position, amounts)
    used, set_of = np.unique(key % len(sets), return_inverse=True)
    return Messages(key // len(sets), set_of.astype(np.int64), total, sets[used])


@jit
def _multicasts(
    indptr: Array, targets: Array, spikes: Array, core: Array, marks: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """
    (sender, mark of the set, spikes) of each multicast of each source, and its cores as CSR: the index of the first
    one, and all cores.
    """
    cores = len(marks)
    room = 1024
    sender, amount = np.empty(room, np.int64), np.empty(room, np.int64)
    mark, start = np.empty(room, np.uint64), np.zeros(room + 1, np.int64)
    members = np.empty(room, np.int64)
    count, filled = 0, 0
    largest = np.zeros(cores, np.int64)
    found = np.empty(cores, np.int64)
    for source in range(len(indptr) - 1):
        home = core[source]
        reached = 0
        for k in range(indptr[source], indptr[source + 1]):
            there = core[targets[k]]
            if there != home and spikes[k] > 0:
                if largest[there] == 0:
                    found[reached] = there
                    reached += 1
                largest[there] = max(largest[there], spikes[k])
        below = 0
        while True:
            level = 0
            for position in range(reached):
                here = largest[found[position]]
                if here > below and (level == 0 or here < level):
                    level = here
            if level == 0:
                break
            if count == len(sender):
                sender, amount = _longer(sender), _longer(amount)
                mark, start = _longer(mark), _longer(start)
            while filled + reached > len(members):
                members = _longer(members)
            name = np.uint64(0)
            for position in range(reached):
                if largest[found[position]] >= level:
                    members[filled] = found[position]
                    filled += 1
                    name += marks[found[position]]
            sender[count], mark[count], amount[count] = home, name, level - below
            count += 1
            start[count] = filled
            below = level
        for position in range(reached):
            largest[found[position]] = 0
    return sender[:count], mark[:count], amount[:count], start[: count + 1], members[:filled]


@jit
def _longer(array: Array) -> Array:
    """A copy of the array with twice the length."""
    longer = np.zeros(2 * len(array) + 1, array.dtype)
    longer[: len(array)] = array
    return longer
