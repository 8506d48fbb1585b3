"""Tasks whose tiles must move together, and the cores among which they may move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .tile_graph import TileGraph


@dataclass(frozen=True)
class Cluster:
    """Tasks whose tiles read values of each other in place: a permutation of cores applies to all of them."""

    tasks: tuple[int, ...]
    affected: NDArray[np.int64]
    """Tasks whose traffic depends on the cores of the cluster's tiles: its own tasks, and those that read from them"""
    vertices: NDArray[np.int32]
    """All tiles of the cluster's tasks"""
    blocks: tuple[tuple[int, ...], ...]
    """Blocks of planned cores that may be exchanged for each other: every task uses all cores of a block, or none"""


def clusters_of(graph: TileGraph, core_of: NDArray[np.int32]) -> list[Cluster]:
    """The clusters of a graph whose tiles are planned on the cores `core_of`, by their first task."""
    root = list(range(graph.tasks))

    def find(task: int) -> int:
        while root[task] != task:
            task = root[task]
        return task

    for earlier, later in graph.together:
        a, b = find(earlier), find(later)
        root[max(a, b)] = min(a, b)
    readers = _readers(graph)
    members: dict[int, list[int]] = {}
    for task in range(graph.tasks):
        members.setdefault(find(task), []).append(task)
    found: list[Cluster] = []
    for tasks in members.values():
        affected = sorted({*tasks, *(reader for task in tasks for reader in readers[task])})
        ranges = [range(int(graph.first[task]), int(graph.first[task + 1])) for task in tasks]
        vertices = np.array([vertex for one in ranges for vertex in one], np.int32)
        used: dict[int, list[int]] = {}
        for task in tasks:
            for core in core_of[graph.first[task] : graph.first[task + 1]].tolist():
                used.setdefault(core, []).append(task)
        blocks: dict[tuple[int, ...], list[int]] = {}
        for core in sorted(used):
            blocks.setdefault(tuple(used[core]), []).append(core)
        cluster = Cluster(tuple(tasks), np.array(affected, np.int64), vertices, tuple(map(tuple, blocks.values())))
        found.append(cluster)
    return found


def _readers(graph: TileGraph) -> list[set[int]]:
    """[tasks] for each task, the tasks that receive parts of its result."""
    readers: list[set[int]] = [set() for _ in range(graph.tasks)]
    holders = graph.sent.vertices[graph.sent.start[:-1]]
    sources = np.searchsorted(graph.first, holders, side="right") - 1
    reading = np.repeat(np.arange(graph.tasks), np.diff(graph.sent.first))
    pairs: set[tuple[int, int]] = set(zip(sources.tolist(), reading.tolist(), strict=True))
    for source, reader in pairs:
        readers[source].add(reader)
    return readers
