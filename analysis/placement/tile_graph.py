"""
The graph of a planned network's tiles: the bytes that tiles send to each other, and their DRAM traffic. A vertex is a
tile (task, position in its grid). All data are in flat arrays, by task, for the kernels that estimate the cost of a
placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ..planning.network_plan import NetworkPlan, storage_root
from ..planning.reads import ReadKind, ReadPlan, ReadSize, is_shared
from ..planning.traffic import overlaps
from ..tasks.task_info import TaskInfo


@dataclass(frozen=True)
class Rows:
    """Entries by task, each with a list of vertices: `first[task]` to `first[task + 1]` are a task's entries."""

    first: NDArray[np.int64]
    """[tasks + 1]"""
    nbytes: NDArray[np.int64]
    """[entries]"""
    start: NDArray[np.int64]
    """[entries + 1] the start of each entry's vertices"""
    vertices: NDArray[np.int32]


@dataclass(frozen=True)
class TileGraph:
    """Vertices are numbered by task, within a task by the row-major position in its grid."""

    first: NDArray[np.int64]
    """[tasks + 1] the first vertex of each task"""
    sent: Rows
    """
    Parts of values in SRAM: the vertex that holds the part, then those that read it, the same bytes for all; by the
    reading task
    """
    shared: Rows
    """Slices that are read from DRAM once and forwarded between all these vertices"""
    alone: Rows
    """DRAM traffic of single vertices, loads and stores"""
    together: tuple[tuple[int, int], ...]
    """(earlier task, later task): tiles of the later one read the result of the earlier one on their core in place"""

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.first) - 1


def tile_graph(network: NetworkPlan) -> TileGraph:
    """The graph of all tasks of a planned network."""
    sizes = [len(plan.tiling.cores) for plan in network.plans]
    first = [0, *accumulate(sizes)]
    numbers = {info.result: number for number, info in enumerate(network.tasks)}
    builder = _Builder(network, first, numbers)
    for number in range(len(network.tasks)):
        builder.add(number)
    return TileGraph(
        np.array(first, np.int64),
        _rows(builder.sent),
        _rows(builder.shared),
        _rows(builder.alone),
        tuple(builder.together),
    )


@dataclass(frozen=True)
class _Entries:
    """Entries of one task, as in `Rows`."""

    nbytes: NDArray[np.int64]
    counts: NDArray[np.int64]
    """[entries] the number of vertices of each"""
    vertices: NDArray[np.int64]

    @staticmethod
    def of(entries: Sequence[tuple[int, Sequence[int]]]) -> _Entries:
        """Entries from (bytes, vertices) of each."""
        flat = [vertex for _, members in entries for vertex in members]
        counts = [len(members) for _, members in entries]
        return _Entries(
            np.array([nbytes for nbytes, _ in entries], np.int64), np.array(counts, np.int64), np.array(flat, np.int64)
        )


class _Builder:
    def __init__(self, network: NetworkPlan, first: list[int], numbers: dict[SSAValue, int]) -> None:
        self.network = network
        self.first = first
        self.numbers = numbers
        self.sent: list[list[_Entries]] = []
        self.shared: list[list[_Entries]] = []
        self.alone: list[list[_Entries]] = []
        self.together: list[tuple[int, int]] = []

    def add(self, number: int) -> None:
        """Add all reads and writes of task `number`."""
        info, plan = self.network.tasks[number], self.network.plans[number]
        for entries in (self.sent, self.shared, self.alone):
            entries.append([])
        vertex = {core: self.first[number] + position for position, core in enumerate(plan.tiling.cores)}
        for read, size in zip(plan.reads, plan.sizes, strict=True):
            match read.kind:
                case ReadKind.GATHER:
                    self._gather(number, info, read, vertex)
                case ReadKind.DIRECT:
                    self.together.append((self._source(info, read), number))
                case ReadKind.STREAM:
                    self._stream(read, size, vertex)
                case ReadKind.INDEXED:
                    pass
        if not plan.resident:
            self.alone[-1].append(_Entries.of([(plan.tile_bytes, [member]) for member in vertex.values()]))

    def _source(self, info: TaskInfo, read: ReadPlan) -> int:
        return self.numbers[storage_root(info.operands[read.read.operand])]

    def _gather(self, number: int, info: TaskInfo, read: ReadPlan, vertex: dict[int, int]) -> None:
        source = self._source(info, read)
        cores = self.network.plans[source].tiling.cores
        holder = {core: self.first[source] + position for position, core in enumerate(cores)}
        if read.held_needed is None or not len((pairs := overlaps(*read.held_needed)).holders):
            return
        # Equal parts of one holder follow each other; they are sent as one multicast.
        parts = np.concatenate([pairs.holders[:, None], pairs.low, pairs.high], axis=1)
        order = np.lexsort(parts.T[::-1])
        parts = parts[order]
        begins = np.flatnonzero(np.concatenate([[True], (parts[1:] != parts[:-1]).any(axis=1)]))
        heads = _looked_up(holder, parts[begins, 0])
        vertices = np.insert(_looked_up(vertex, pairs.readers[order]), begins, heads)
        counts = np.diff(begins, append=len(order)) + 1
        self.sent[number].append(_Entries(pairs.volumes[order][begins] * read.item_bytes, counts, vertices))

    def _stream(self, read: ReadPlan, size: ReadSize, vertex: dict[int, int]) -> None:
        nbytes = size.buffer_bytes * size.versions
        groups = [[vertex[core] for core in group] for group in read.groups]
        shared = [(nbytes, members) for members in groups if is_shared(len(members), nbytes)]
        alone = [(nbytes, [m]) for members in groups if not is_shared(len(members), nbytes) for m in members]
        self.shared[-1].append(_Entries.of(shared))
        self.alone[-1].append(_Entries.of(alone))


def _looked_up(vertex: dict[int, int], cores: NDArray[np.int64]) -> NDArray[np.int64]:
    """The vertex of each of `cores`."""
    table = np.zeros(max(vertex) + 1, np.int64)
    table[list(vertex)] = list(vertex.values())
    return table[cores]


def _rows(tasks: Sequence[Sequence[_Entries]]) -> Rows:
    flat = [entries for task in tasks for entries in task]
    none = np.zeros(0, np.int64)
    counts = np.concatenate([none, *(entries.counts for entries in flat)])
    return Rows(
        np.array([0, *accumulate(sum(len(entries.counts) for entries in task) for task in tasks)], np.int64),
        np.concatenate([none, *(entries.nbytes for entries in flat)]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([none, *(entries.vertices for entries in flat)]).astype(np.int32),
    )


def cores_of(network: NetworkPlan) -> NDArray[np.int32]:
    """[vertices] the planned core of each tile."""
    return np.array([core for plan in network.plans for core in plan.tiling.cores], np.int32)
