"""Minimal methods of placement, mapping, ordering of tasks and fusion of subgraphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from meshloom.analysis.orders import search
from meshloom.analysis.orders.simple import draw
from meshloom.analysis.placement.estimate import PlaceObjective
from meshloom.analysis.placement.tile_graph import TileGraph
from meshloom.analysis.subgraphs.fuse_grouped import GroupBounds, PartSize
from meshloom.analysis.subgraphs.fusion import Compiles, FusionStrategy, Interval
from meshloom.chips import Chip
from meshloom.mapping.method import Mapping, MapRequest
from meshloom.support.errors import MeshloomError
from numpy.typing import NDArray


def place_mirrored(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """The planned placement, mirrored left to right."""
    del graph, objective, seed
    row, column = np.divmod(planned, chip.cols)
    return (row * chip.cols + chip.cols - 1 - column).astype(np.int32)


def serpentine(request: MapRequest) -> Mapping:
    """
    Fill the cores one after the other, every other row from right to left, so that successive cores are neighbours.
    """
    topology, mesh, capacity, watch = request.topology, request.mesh, request.capacity, request.watch
    with watch.step("fill"):
        cores = sorted(mesh.usable_cores.tolist(), key=lambda core: _position(core, mesh.width))
        core_of = np.empty(topology.vertices, np.int32)
        used, number = 0, 0
        for vertex, size in enumerate(topology.size.tolist()):
            if used + size > capacity and used:
                used, number = 0, number + 1
            if size > capacity or number == len(cores):
                raise MeshloomError("the vertices do not fit on the cores: give more --capacity")
            core_of[vertex] = cores[number]
            used += size
    return Mapping(core_of, watch.seconds)


def _position(core: int, width: int) -> tuple[int, int]:
    row, column = divmod(core, width)
    return row, column if row % 2 == 0 else -column


def best_of_a_few(cost: search.OrderCost, effort: search.Effort) -> search.Found | None:
    """The best of eight random orders."""
    return search.best_of(cost, draw(cost, 8, effort.seed), "a-few", effort.goal(cost))


class FuseFirstTwo:
    """Fuses the first two subgraphs if the result compiles; the others stay unchanged."""

    def __call__(self, count: int, compiles: Compiles) -> list[Interval]:
        start = 2 if count > 1 and compiles(0, 2).compiled else 0
        return [(0, 2)] * (start > 0) + [(number, number + 1) for number in range(start, count)]


def make_first_two(parts: Sequence[PartSize], bounds: GroupBounds) -> FusionStrategy:
    """The strategy, which ignores sizes and bounds."""
    del parts, bounds
    return FuseFirstTwo()
