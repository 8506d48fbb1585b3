"""The cost of a placement of tiles: cycles of the busiest link, core and DRAM port for a task's traffic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...chips.dram_ports import port_rate, port_routers
from ...support.jit import Array, jit
from .tile_graph import TileGraph

MESSAGE_CYCLES = 8
"""Fixed cycles of a sender or receiver for a message."""
SPREAD = 0.05
"""Weight of the mean link's cycles relative to those of the busiest link: a tie-breaker between placements."""


class PlaceObjective(StrEnum):
    """The objective of a placement."""

    MULTICAST = "multicast"
    """Cycles of the busiest link, core and DRAM port, with values sent along multicast trees."""
    TRAFFIC = "traffic"
    """Bytes x links of all trees, in cycles of the mean link."""


@dataclass(frozen=True)
class Estimator:
    """Estimates tasks of one graph on one chip."""

    graph: TileGraph
    numbers: NDArray[np.float64]
    """
    link bytes per cycle, DRAM port bytes per cycle, hop cycles; weights of the busiest parts, and of the mean link
    """
    ports: NDArray[np.int64]
    homes: NDArray[np.int64]
    width: int
    loads: NDArray[np.float64]
    """[6 x cores] scratch: bytes by link (east, west, north, south), into and out of each core; zero between calls"""

    @staticmethod
    def of(graph: TileGraph, chip: Chip, objective: PlaceObjective = PlaceObjective.MULTICAST) -> Estimator:
        """An estimator for a chip."""
        ports, homes = port_routers(chip)
        weights = (1.0, SPREAD) if objective is PlaceObjective.MULTICAST else (0.0, 1.0)
        numbers = np.array([chip.link_bytes_per_cycle, port_rate(chip), chip.hop_cycles, *weights], np.float64)
        return Estimator(graph, numbers, ports, homes, chip.cols, np.zeros(6 * chip.cores, np.float64))

    def cycles(self, tasks: NDArray[np.int64], core_of: NDArray[np.int32]) -> float:
        """Sum over `tasks` of the cycles of their traffic, when each vertex is on its core of `core_of`."""
        return float(_cycles(tasks, core_of, self._traffic))

    def exchange(
        self,
        tasks: NDArray[np.int64],
        core_of: NDArray[np.int32],
        first: NDArray[np.int64],
        vertices: NDArray[np.int32],
        pairs: NDArray[np.int64],
        best: float,
        heat: float,
        draws: NDArray[np.float64],
    ) -> tuple[float, bool, int]:
        """
        Exchange groups of vertices between two cores, pair by pair [pairs, 2], if the cycles of `tasks` are then below
        `best`; group g is vertices[first[g] : first[g + 1]], all on one core. With `heat`, worse exchanges are accepted
        at random, by `draws` [pairs]. `core_of` is modified. Returns the resulting cycles, whether there was an
        exchange, and the number of `draws` that were used.
        """
        return _exchange(tasks, core_of, first, vertices, pairs, best, heat, draws, self._traffic)

    @cached_property
    def _traffic(self) -> _Traffic:
        sent, shared, alone = self.graph.sent, self.graph.shared, self.graph.alone
        return _Traffic(
            sent.first, sent.nbytes, sent.start, sent.vertices, shared.first, shared.nbytes, shared.start,
            shared.vertices, alone.first, alone.nbytes, alone.start, alone.vertices, self.numbers, self.ports,
            self.homes, self.width, self.loads,
        )  # fmt: skip


class _Traffic(NamedTuple):
    """The data of an `Estimator`, for the kernels."""

    sent_first: Array
    sent_bytes: Array
    sent_start: Array
    sent_vertices: Array
    shared_first: Array
    shared_bytes: Array
    shared_start: Array
    shared_vertices: Array
    alone_first: Array
    alone_bytes: Array
    alone_start: Array
    alone_vertices: Array
    numbers: Array
    ports: Array
    homes: Array
    width: int
    loads: Array


@jit
def _walk(
    loads: Array, stamp: Array, mark: int, row_of: Array, col_of: Array, width: int, source: int, to: int, nbytes: float
) -> int:
    """
    Add bytes to the links of the XY route from `source`, from its end back to the first link that is already in the
    tree. Returns its hops.
    """
    cores, at = stamp.size // 4, to
    x, y = col_of[to], row_of[to]
    home_x, home_y = col_of[source], row_of[source]
    hops = abs(x - home_x) + abs(y - home_y)
    way, step = (3, -width) if y > home_y else (2, width)
    for _ in range(abs(y - home_y)):
        at += step
        if stamp[way * cores + at] == mark:
            return hops
        stamp[way * cores + at] = mark
        loads[way * cores + at] += nbytes
    way, step = (0, -1) if x > home_x else (1, 1)
    for _ in range(abs(x - home_x)):
        at += step
        if stamp[way * cores + at] == mark:
            return hops
        stamp[way * cores + at] = mark
        loads[way * cores + at] += nbytes
    return hops


@jit
def _move(core_of: Array, vertices: Array, core: Any) -> None:
    """Move some vertices to a core."""
    for vertex in vertices:
        core_of[vertex] = core


@jit
def _exchange(
    tasks: Array,
    core_of: Array,
    first: Array,
    vertices: Array,
    pairs: Array,
    best: float,
    heat: float,
    draws: Array,
    traffic: _Traffic,
) -> tuple[float, bool, int]:
    improved, drawn = False, 0
    for row in range(len(pairs)):
        one, other = pairs[row]
        ones, others = vertices[first[one] : first[one + 1]], vertices[first[other] : first[other + 1]]
        here, there = core_of[ones[0]], core_of[others[0]]
        _move(core_of, ones, there)
        _move(core_of, others, here)
        cycles = _cycles(tasks, core_of, traffic)
        taken = cycles < best - 1e-9
        if not taken and heat:
            taken = draws[drawn] < np.exp((best - cycles) / (heat * best + 1e-9))
            drawn += 1
        if taken:
            best, improved = cycles, True
        else:
            _move(core_of, ones, here)
            _move(core_of, others, there)
    return best, improved, drawn


@jit
def _cycles(tasks: Array, core_of: Array, traffic: _Traffic) -> float:
    (
        sent_first, sent_bytes, sent_start, sent_vertices, shared_first, shared_bytes, shared_start, shared_vertices,
        alone_first, alone_bytes, alone_start, alone_vertices, numbers, ports, homes, width, loads,
    ) = traffic  # fmt: skip
    cores = loads.size // 6
    link_rate, port_rate, hop_cycles = numbers[0], numbers[1], numbers[2]
    busiest, spread = numbers[3], numbers[4] / (4 * cores * link_rate)
    # Cores are 64-bit integers everywhere, and bytes floats, so that `_walk` is compiled once.
    row_of, col_of = np.empty(cores, np.int64), np.empty(cores, np.int64)  # look-ups are faster than divisions
    for core in range(cores):
        row_of[core], col_of[core] = core // width, core % width
    stamp = np.full(4 * cores, -1, np.int64)
    messages = np.zeros(2 * cores, np.int64)
    port_bytes = np.zeros(homes.size, np.float64)
    loaders = np.empty(cores, np.int64)
    by_port = np.zeros(homes.size, np.int64)
    mark = 0
    total = 0.0
    for task in tasks:
        farthest = 0
        # Values in the cores: each part is sent once along a tree.
        for entry in range(sent_first[task], sent_first[task + 1]):
            home, nbytes = int(np.int64(core_of[sent_vertices[sent_start[entry]]])), float(sent_bytes[entry])
            leaves = False
            for k in range(sent_start[entry] + 1, sent_start[entry + 1]):
                to = int(np.int64(core_of[sent_vertices[k]]))
                if to != home:
                    farthest = max(farthest, _walk(loads, stamp, mark, row_of, col_of, width, home, to, nbytes))
                    loads[4 * cores + to] += nbytes
                    messages[to] += 1
                    leaves = True
            if leaves:
                loads[5 * cores + home] += nbytes
                messages[cores + home] += 1
            mark += 1
        gather = busiest * (loads.max() / link_rate + MESSAGE_CYCLES * messages.max() + hop_cycles * farthest)
        gather += spread * loads[: 4 * cores].sum()
        loads[:] = 0
        messages[:] = 0
        # From DRAM: a few cores of a group load for the others, through as many ports as there are.
        for entry in range(shared_first[task], shared_first[task + 1]):
            low, high = shared_start[entry], shared_start[entry + 1]
            count = _choose_loaders(core_of, shared_vertices, low, high, ports, loaders, by_port)
            for j in range(count):
                loader = int(loaders[j])
                part = shared_bytes[entry] / count
                port_bytes[ports[loader]] += part
                _walk(loads, stamp, mark, row_of, col_of, width, int(homes[ports[loader]]), loader, part)
                mark += 1
                for k in range(low, high):
                    to = int(np.int64(core_of[shared_vertices[k]]))
                    if to != loader:
                        _walk(loads, stamp, mark, row_of, col_of, width, loader, to, part)
                mark += 1
        for entry in range(alone_first[task], alone_first[task + 1]):
            core, nbytes = int(np.int64(core_of[alone_vertices[alone_start[entry]]])), float(alone_bytes[entry])
            port_bytes[ports[core]] += nbytes
            _walk(loads, stamp, mark, row_of, col_of, width, int(homes[ports[core]]), core, nbytes)
            mark += 1
        dram = busiest * max(loads.max() / link_rate, port_bytes.max() / port_rate) + spread * loads.sum()
        loads[:] = 0
        port_bytes[:] = 0
        total += gather + dram
    return total


@jit
def _choose_loaders(
    core_of: Array, vertices: Array, low: int, high: int, ports: Array, loaders: Array, by_port: Array
) -> int:
    """
    Write the cores that read DRAM for the whole group, one for each port in turn, to `loaders`. Returns their number.
    """
    count = min(by_port.size, high - low)
    found = 0
    turn = 0
    while found < count:
        by_port[:] = 0
        for k in range(low, high):
            core = core_of[vertices[k]]
            port = ports[core]
            if by_port[port] == turn and found < count:
                loaders[found] = core
                found += 1
            by_port[port] += 1
        turn += 1
    return count
