"""
The graph of a planned network's tiles: which tile sends what to which, and what reaches them from DRAM.

A vertex is a tile (task, position in its grid). Everything is in flat arrays, by task, for the kernels that estimate
what a placement costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...chips import Chip
from ..planning.plan_network import NetworkPlan, storage_root
from ..planning.plan_task import TaskPlan
from ..planning.reads import ReadKind, ReadPlan, ReadSize, is_shared
from ..planning.traffic import overlaps
from ..task_info import TaskInfo


@dataclass(frozen=True)
class Rows:
    """Entries by task, each with a list of vertices: `first[task]` to `first[task + 1]` are a task's entries."""

    first: NDArray[np.int64]
    """[tasks + 1]"""
    nbytes: NDArray[np.int64]
    """[entries]"""
    start: NDArray[np.int64]
    """[entries + 1] where each entry's vertices begin"""
    vertices: NDArray[np.int32]


@dataclass(frozen=True)
class TileGraph:
    """Vertices are numbered by task, within a task by the row-major position in its grid."""

    first: NDArray[np.int64]
    """[tasks + 1] the first vertex of each task"""
    sent: Rows
    """Parts of values that lie in the cores: the vertex that holds it, then those that read it, the same bytes for all;
    by the task that reads"""
    shared: Rows
    """Slices that are read from DRAM once and passed on between all these vertices"""
    alone: Rows
    """DRAM traffic of single vertices, to and fro"""
    together: tuple[tuple[int, int], ...]
    """(earlier task, later task): tiles of the later one read in place what the earlier one computed on their core"""

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


_Entries = list[tuple[int, Sequence[int]]]


class _Builder:
    def __init__(self, network: NetworkPlan, first: list[int], numbers: dict[SSAValue, int]) -> None:
        self.network = network
        self.first = first
        self.numbers = numbers
        self.sent: list[_Entries] = []
        self.shared: list[_Entries] = []
        self.alone: list[_Entries] = []
        self.together: list[tuple[int, int]] = []

    def add(self, number: int) -> None:
        """Everything that task `number` reads and writes."""
        info, plan = self.network.tasks[number], self.network.plans[number]
        for entries in (self.sent, self.shared, self.alone):
            entries.append([])
        vertex = {core: self.first[number] + place for place, core in enumerate(plan.tiling.cores)}
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
            self._store(info, plan, vertex)

    def _source(self, info: TaskInfo, read: ReadPlan) -> int:
        return self.numbers[storage_root(info.operands[read.read.operand])]

    def _gather(self, number: int, info: TaskInfo, read: ReadPlan, vertex: dict[int, int]) -> None:
        source = self._source(info, read)
        cores = self.network.plans[source].tiling.cores
        holder = {core: self.first[source] + place for place, core in enumerate(cores)}
        parts: dict[object, list[int]] = {}
        nbytes: dict[object, int] = {}
        needed = {core: piece.bounds for core, piece in read.whole.items()}
        for core, reader, box in overlaps(read.held or {}, needed):
            key = (core, box)
            if key not in parts:
                parts[key] = [holder[core]]
                nbytes[key] = box.volume * read.item_bytes
            parts[key].append(vertex[reader])
        self.sent[number].extend((nbytes[key], members) for key, members in parts.items())

    def _stream(self, read: ReadPlan, size: ReadSize, vertex: dict[int, int]) -> None:
        nbytes = size.buffer_bytes * size.versions
        for group in read.groups:
            members = [vertex[core] for core in group]
            if is_shared(len(group), nbytes):
                self.shared[-1].append((nbytes, members))
            else:
                self.alone[-1].extend((nbytes, [member]) for member in members)

    def _store(self, info: TaskInfo, plan: TaskPlan, vertex: dict[int, int]) -> None:
        del info
        self.alone[-1].extend((plan.tile_bytes, [member]) for member in vertex.values())


def _rows(entries: Iterable[_Entries]) -> Rows:
    tasks = list(entries)
    flat = [entry for task in tasks for entry in task]
    return Rows(
        np.array([0, *accumulate(len(task) for task in tasks)], np.int64),
        np.array([nbytes for nbytes, _ in flat], np.int64),
        np.array([0, *accumulate(len(members) for _, members in flat)], np.int64),
        np.array([member for _, members in flat for member in members], np.int32),
    )


def cores_of(network: NetworkPlan) -> NDArray[np.int32]:
    """[vertices] the core of each tile as it is planned."""
    return np.array([core for plan in network.plans for core in plan.tiling.cores], np.int32)


def port_homes(chip: Chip) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([cores] DRAM port of each core, [ports] the router at which each port is)."""
    rows = [(2 * port + 1) * chip.rows // (2 * chip.dram_ports) for port in range(chip.dram_ports)]
    # As the network-on-chip has it: the port of the nearest row, of equally near ones the first.
    nearest = [min(range(len(rows)), key=lambda port: (abs(rows[port] - y), port)) for y in range(chip.rows)]
    ports = np.repeat(np.array(nearest, np.int64), chip.cols)
    return ports, np.array([row * chip.cols for row in rows], np.int64)
