"""
Assignment of stacks to the cores of their cluster: all stacks of one cluster at once, such that bytes x hops are
minimal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...mapping.mesh import Mesh
from .assignment import assign
from .stacks import Stacks

SWEEPS = 4
"""Passes over all clusters; they end early if no stack moves."""


def nearest_to(wanted: NDArray[np.int32], stacks: Stacks, mesh: Mesh) -> NDArray[np.int32]:
    """
    [stacks] cores near the targets `wanted`, each stack on one of the planned cores of its cluster. Within a cluster,
    the sum of bytes x hops from a stack's target is minimal.
    """
    sent = np.bincount(stacks.source, stacks.nbytes, minlength=stacks.stacks)
    weight = sent + np.bincount(stacks.target, stacks.nbytes, minlength=stacks.stacks)
    placed = stacks.planned.copy()
    for cluster in range(stacks.clusters):
        own = slice(int(stacks.first[cluster]), int(stacks.first[cluster + 1]))
        cores = stacks.planned[own]
        hops = mesh.hops(wanted[own, None], cores[None, :]).astype(np.float64)
        placed[own] = cores[assign(hops * weight[own, None])]
    return placed


def match(placed: NDArray[np.int32], stacks: Stacks, mesh: Mesh) -> NDArray[np.int32]:
    """
    [stacks] cores with no more bytes x hops than `placed`: the stacks of one cluster after the other are permuted. Each
    permutation is optimal for the present cores of all other clusters. A cluster keeps its set of cores.
    """
    placed = placed.copy()
    # Hops are sums over rows and columns, so two small tables replace a table of all pairs of cores.
    across, down = (
        np.abs(at[:, None] - at[None, :]).astype(np.float64) for at in (mesh.column_positions, mesh.row_positions)
    )
    own_end = np.concatenate([stacks.source, stacks.target])
    other_end = np.concatenate([stacks.target, stacks.source])
    nbytes = np.concatenate([stacks.nbytes, stacks.nbytes]).astype(np.float64)
    order = np.argsort(own_end, kind="stable")
    own_end, other_end, nbytes = own_end[order], other_end[order], nbytes[order]
    start = np.searchsorted(own_end, stacks.first)
    cluster_of = np.repeat(np.arange(stacks.clusters), np.diff(stacks.first))
    # A cluster is processed again only if one that it has edges with has moved since.
    waiting = np.diff(start) > 0
    for _ in range(SWEEPS):
        if not waiting.any():
            break
        for cluster in np.flatnonzero(waiting):
            waiting[cluster] = False
            low, high = int(stacks.first[cluster]), int(stacks.first[cluster + 1])
            edges = slice(int(start[cluster]), int(start[cluster + 1]))
            key = (own_end[edges] - low) * mesh.cores + placed[other_end[edges]]
            drawn = np.bincount(key, nbytes[edges], minlength=(high - low) * mesh.cores)
            cores = placed[low:high].copy()
            drawn = drawn.reshape(high - low, mesh.height, mesh.width)
            costs = (drawn.sum(axis=1) @ across)[:, cores % mesh.width]
            costs = costs + (drawn.sum(axis=2) @ down)[:, cores // mesh.width]
            if (costs == costs[0]).all():
                continue  # all stacks read the same data, so every assignment has the same cost
            found = assign(np.ascontiguousarray(costs))
            # Stacks move only if there is a gain, so that the sweeps end.
            if np.take_along_axis(costs, found[:, None], 1).sum() < np.trace(costs):
                placed[low:high] = cores[found]
                waiting[cluster_of[other_end[edges]]] = True
                waiting[cluster] = False
    return placed
