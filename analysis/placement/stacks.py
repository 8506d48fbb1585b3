"""
Tiles that move together in placement: a *stack* is a set of tiles that read values of each other in place on one core.
The stacks of a cluster of tasks have to be on different cores, as each task has one tile per core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .clusters import clusters_of
from .tile_graph import Rows, TileGraph


@dataclass(frozen=True)
class Stacks:
    """The stacks of a graph, numbered cluster by cluster, and the bytes that one sends to another."""

    of_vertex: NDArray[np.int64]
    """[vertices] the stack of each tile"""
    first: NDArray[np.int64]
    """[clusters + 1] the first stack of each cluster"""
    planned: NDArray[np.int32]
    """[stacks] the planned core of each stack"""
    source: NDArray[np.int64]
    """[edges] stack that sends, ascending; no stack sends to itself, and no pair occurs twice"""
    target: NDArray[np.int64]
    """[edges] stack that receives, ascending for each source"""
    nbytes: NDArray[np.int64]
    """[edges] bytes that are sent"""

    @property
    def stacks(self) -> int:
        """Number of stacks."""
        return len(self.planned)

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.first) - 1


def stacks_of(graph: TileGraph, planned: NDArray[np.int32]) -> Stacks:
    """The stacks of a graph whose tiles are planned on the cores `planned` ([vertices])."""
    of_vertex = np.zeros(int(graph.first[-1]), np.int64)
    first = [0]
    cores: list[NDArray[np.int32]] = []
    for cluster in clusters_of(graph, planned):
        used, position = np.unique(planned[cluster.vertices], return_inverse=True)
        of_vertex[cluster.vertices] = first[-1] + position
        first.append(first[-1] + len(used))
        cores.append(used)
    # Data from DRAM is forwarded among the cores that share it: the first represents the core that loads it.
    pairs = [_pairs(rows) for rows in (graph.sent, graph.shared)]
    source, target, nbytes = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    source, target, nbytes = _summed(of_vertex[source], of_vertex[target], nbytes, first[-1])
    on = np.concatenate([np.zeros(0, np.int32), *cores]).astype(np.int32)
    return Stacks(of_vertex, np.array(first, np.int64), on, source, target, nbytes)


def _pairs(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(first vertex, other vertex, bytes) of all entries."""
    counts = np.diff(rows.start)
    others = np.ones(len(rows.vertices), bool)
    others[rows.start[:-1]] = False
    heads = np.repeat(rows.vertices[rows.start[:-1]], counts)
    nbytes = np.repeat(rows.nbytes, counts)
    return heads[others].astype(np.int64), rows.vertices[others].astype(np.int64), nbytes[others]


def _summed(
    source: NDArray[np.int64], target: NDArray[np.int64], nbytes: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The edges with the bytes of equal ones added up, and without edges from a stack to itself."""
    between = source != target
    key = source[between] * count + target[between]
    order = np.argsort(key, kind="stable")
    key, nbytes = key[order], nbytes[between][order]
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.int64)
    sums = np.add.reduceat(nbytes, begins) if len(key) else nbytes
    return key[begins] // count, key[begins] % count, sums
