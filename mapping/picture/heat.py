"""The contents of a picture of a mapping: relative loads of cores and links, and where they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..metrics.links import EAST, NORTH, SOUTH, WEST, unicast_loads
from ..metrics.loads import core_loads
from ..metrics.multicast import multicast_loads
from ..topology.topology import Topology
from .colours import UNUSABLE, colour

SIDE = 0.5
"""Side of a core's square, in core pitches; the rest of the pitch is for the links."""
LANE = 0.16
"""Width of a fully loaded link."""
CHIP_GAP = 0.6
"""Gap between the chips of an array, in core pitches."""


@dataclass(frozen=True)
class HeatMap:
    """Loads of cores and of links, separately for both directions of a link."""

    mesh: Mesh
    title: str
    cores: NDArray[np.float64]
    """[cores] load over capacity; NaN where a core is not usable"""
    links: NDArray[np.float64]
    """[4, cores] load over the largest load, by direction (east, west, north, south)"""
    core_legend: str
    link_legend: str

    @property
    def columns(self) -> list[float]:
        """Position of each column, in core pitches, with gaps between chips."""
        return _apart(np.diff(self.mesh.column_positions))

    @property
    def rows(self) -> list[float]:
        """Position of each row, in core pitches, with gaps between chips."""
        return _apart(np.diff(self.mesh.row_positions))

    def tiles(self) -> Iterator[tuple[float, float, str]]:
        """Upper left corner and colour of the square of each core."""
        columns, rows = self.columns, self.rows
        for core, share in enumerate(self.cores.tolist()):
            x, y = columns[core % self.mesh.width], rows[core // self.mesh.width]
            yield x, y, UNUSABLE if math.isnan(share) else colour(share)

    def lines(self) -> Iterator[tuple[float, float, float, float, float, str]]:
        """(x, y, x, y, width, colour) of each link with a load, lighter ones first; drawn as right-hand traffic."""
        columns, rows, width = self.columns, self.rows, self.mesh.width
        ways, routers = np.nonzero(self.links)
        order = np.argsort(self.links[ways, routers], kind="stable")
        lanes: list[tuple[int, int]] = list(zip(ways[order].tolist(), routers[order].tolist(), strict=True))
        for way, core in lanes:
            share = float(self.links[way, core])
            column, row = core % width, core // width
            thick = LANE * (0.15 + 0.85 * share)
            if way in (EAST, WEST):
                left = column if way == EAST else column - 1
                y = rows[row] + SIDE / 2 + (LANE if way == EAST else -LANE) * 0.6
                yield columns[left] + SIDE, y, columns[left + 1], y, thick, colour(0.1 + 0.9 * share)
            else:
                upper = row if way == SOUTH else row - 1
                x = columns[column] + SIDE / 2 + (LANE if way == NORTH else -LANE) * 0.6
                yield x, rows[upper] + SIDE, x, rows[upper + 1], thick, colour(0.1 + 0.9 * share)


def _apart(costs: NDArray[np.int64]) -> list[float]:
    positions = [0.0]
    for cost in costs.tolist():
        positions.append(positions[-1] + (1.0 if cost == min(costs) else 1.0 + CHIP_GAP))
    return positions


def heat_map(
    topology: Topology, mesh: Mesh, core_of_vertex: NDArray[np.int32], capacity: int, title: str, *, multicast: bool
) -> HeatMap:
    """
    The heat map of a mapping. The loads of links are those of trees (`multicast`, which requires directed edges) or of
    one message per edge.
    """
    loads = core_loads(topology.size, mesh.cores, core_of_vertex)
    shares = np.where(mesh.usable, loads / max(capacity, 1), np.nan)
    carried = (multicast_loads if multicast else unicast_loads)(topology, mesh, core_of_vertex).astype(np.float64)
    most = float(carried.max())
    way, router = np.unravel_index(int(carried.argmax()), carried.shape)
    name = {EAST: "east", WEST: "west", NORTH: "north", SOUTH: "south"}[int(way)]
    busiest = f"; busiest link: {most:,.0f}, {name} of core {router}" if most else ""
    return HeatMap(
        mesh,
        title,
        shares,
        carried / most if most else carried,
        f"cores: share of the capacity of {capacity:,}; fullest: {int(loads.max()):,}",
        f"links: {'multicast trees' if multicast else 'one route per edge'}, XY routing{busiest}",
    )
