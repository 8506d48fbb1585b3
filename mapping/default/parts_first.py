"""Another start for annealing for hops: a partition with a small cut, whose parts are then placed on the cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, merge_vertices
from .anneal import anneal
from .scan_anneal import anneal_scanning
from .target import Cooling, Target

_PLACEMENT_SWEEPS = 3000


def parts_first(graph: Graph, core_of: Array, target: Target, state: Array, sweeps: float) -> Array:
    """
    Core of each vertex ([n] int32): a mapping `core_of` is annealed for the cut with `sweeps` proposals per vertex,
    then the vertices of each core are moved together, by swaps of cores.

    For networks of dense blocks in long chains (the tiles of a transformer), the result is better than by bisection.
    """
    parts = core_of.copy()
    apart = 1 - np.eye(target.mesh.cores, dtype=np.int32)
    anneal_scanning(graph, parts, apart, target.capacity, state, Cooling(0.2, 0.003, sweeps))
    number = _numbers(target)
    groups = merge_vertices(graph, number[parts], target.cores.size)
    return _placed(groups.indptr, groups.indices, groups.data, target, state)[number[parts]]


def place_parts(parts: Array, traffic: Array, target: Target, state: Array) -> Array:
    """
    Core of each vertex ([n] int32): the parts are moved as a whole, for few hops of `traffic` [cores, cores] between
    them. `parts` [n]: the part of each vertex, which is the core that it is on now.
    """
    cores = target.cores
    both = (traffic + traffic.T)[np.ix_(cores, cores)]
    np.fill_diagonal(both, 0)
    rows, columns = np.nonzero(both)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cores.size))]).astype(np.int64)
    placed = _placed(indptr, columns.astype(np.int32), both[rows, columns], target, state)
    return placed[_numbers(target)[parts]]


def _numbers(target: Target) -> Array:
    """[mesh.cores] index of each core in the target's cores; -1 for other cores, to which no part may be moved."""
    number = np.full(target.mesh.cores, -1, np.int32)
    number[target.cores] = np.arange(target.cores.size)
    return number


def _placed(indptr: Array, indices: Array, data: Array, target: Target, state: Array) -> Array:
    """[parts] the target's core of each part, one part on each core, after annealing by swaps."""
    cores = target.cores
    groups = Graph(indptr, indices, data, np.ones(cores.size, np.int64))
    core_of_part = cores.astype(np.int32)
    anneal(groups, core_of_part, replace(target, capacity=1), state, Cooling(1.0, 0.001, _PLACEMENT_SWEEPS))
    return core_of_part
