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
    every = np.arange(chip.cores)
    hops = mesh.hops(every[:, None], every[None, :]).astype(np.float64)
    sources, nbytes, first = _edges_by_reader(graph, len(planned))
    placed = np.full_like(planned, -1)
    for cluster in clusters_of(graph, planned):
        own = planned[cluster.vertices]
        for block in cluster.blocks:
            free = np.array(block)
            for core in block:
                tiles = cluster.vertices[own == core]
                edges = np.concatenate([np.arange(*first[tile : tile + 2]) for tile in tiles])
                there = placed[sources[edges]]
                is_placed = there >= 0
                needed = np.bincount(there[is_placed], nbytes[edges[is_placed]], chip.cores)  # exact below 2^53 bytes
                from_cores = np.flatnonzero(needed)
                cost = hops[np.ix_(free, from_cores)] @ needed[from_cores]
                # Among cores of equal cost, the planned one is preferred.
                best = np.lexsort((free, free != core, cost))[0]
                placed[tiles] = free[best]
                free = np.delete(free, best)
    return placed


def _edges_by_reader(graph: TileGraph, vertices: int) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """
    (holders, bytes, first) of all data that are sent to tiles; those to vertex v are first[v] up to first[v + 1].
    """
    sources, readers, nbytes = _edges(graph)
    order = np.argsort(readers, kind="stable")
    return sources[order], nbytes[order], np.searchsorted(readers[order], np.arange(vertices + 1)).tolist()


def _edges(graph: TileGraph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(holder, reader, bytes) of all data that are sent to tiles."""
    sent = graph.sent
    counts = np.diff(sent.start)
    heads = np.repeat(sent.vertices[sent.start[:-1]], counts).astype(np.int64)
    keep = np.ones(len(sent.vertices), bool)
    keep[sent.start[:-1]] = False
    return heads[keep], sent.vertices[keep].astype(np.int64), np.repeat(sent.nbytes, counts)[keep]
