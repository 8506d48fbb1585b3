"""
Baseline: greedy placement. Task after task, each tile is put on the free core of its task nearest to its operands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...chips import Chip
from ...mapping.mesh import Mesh
from .clusters import clusters_of
from .estimate import PlaceObjective
from .tile_graph import TileGraph


def place_greedily(
    graph: TileGraph, chip: Chip, planned: NDArray[np.int32], objective: PlaceObjective, seed: int
) -> NDArray[np.int32]:
    """
    [vertices] cores chosen by bytes x hops to the tiles that have been placed.

    Tasks keep their sets of cores; tasks that read each other's tiles in place move together. See `PlaceMethod`.
    """
    del objective, seed
    mesh = Mesh.of_chip(chip)
    sources, readers, nbytes = _edges(graph)
    placed = np.full_like(planned, -1)
    for cluster in clusters_of(graph, planned):
        own = planned[cluster.vertices]
        for block in cluster.blocks:
            free = list(block)
            for core in block:
                tiles = cluster.vertices[own == core]
                reading = np.isin(readers, tiles) & (placed[sources] >= 0)
                there = placed[sources[reading]]
                hops = mesh.hops(np.array(free)[:, None], there[None, :])
                cost = (hops * nbytes[reading]).sum(axis=1)
                # Among cores of equal cost, the planned one is preferred.
                best = min(range(len(free)), key=lambda at: (int(cost[at]), free[at] != core, free[at]))
                placed[tiles] = free.pop(best)
    return placed


def _edges(graph: TileGraph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(holder, reader, bytes) of all data that are sent to tiles."""
    sent = graph.sent
    counts = np.diff(sent.start)
    heads = np.repeat(sent.vertices[sent.start[:-1]], counts).astype(np.int64)
    keep = np.ones(len(sent.vertices), bool)
    keep[sent.start[:-1]] = False
    return heads[keep], sent.vertices[keep].astype(np.int64), np.repeat(sent.nbytes, counts)[keep]
