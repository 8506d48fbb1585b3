"""Another start for annealing on hops: partition with a small cut first, then place the parts on the cores."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array
from ..kernels.graph import Graph, merge_vertices
from ..mesh import Mesh
from .anneal import anneal
from .scan_anneal import anneal_scanning

_PLACEMENT_SWEEPS = 3000


def parts_first(
    graph: Graph, core_of: Array, mesh: Mesh, cores: Array, capacity: int, state: Array, *, sweeps: float
) -> Array:
    """
    Core of each vertex ([n] int32): a mapping `core_of` is annealed on the cut with `sweeps` proposals a vertex, then
    what a core holds is moved as one, by swaps of cores.

    Networks of dense blocks in long chains (the tiles of a transformer) come out better than from bisection.
    """
    parts = core_of.copy()
    apart = 1 - np.eye(mesh.cores, dtype=np.int32)
    anneal_scanning(graph, parts, apart, capacity, state, hot=0.2, cold=0.003, sweeps=sweeps)
    number = _numbers(cores, mesh)
    groups = merge_vertices(graph, number[parts], cores.size)
    return _placed(groups.indptr, groups.indices, groups.data, mesh, cores, state)[number[parts]]


def place_parts(parts: Array, traffic: Array, mesh: Mesh, cores: Array, state: Array) -> Array:
    """
    Core of each vertex ([n] int32) of `parts` (on `cores`), as wholes, for `traffic` [cores, cores] between the parts.
    """
    both = (traffic + traffic.T)[np.ix_(cores, cores)]
    np.fill_diagonal(both, 0)
    rows, columns = np.nonzero(both)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=cores.size))]).astype(np.int64)
    placed = _placed(indptr, columns.astype(np.int32), both[rows, columns], mesh, cores, state)
    return placed[_numbers(cores, mesh)[parts]]


def _numbers(cores: Array, mesh: Mesh) -> Array:
    """[mesh.cores] which of `cores` each one is: the others take no part in swaps, as nothing may move there."""
    number = np.full(mesh.cores, -1, np.int32)
    number[cores] = np.arange(cores.size)
    return number


def _placed(indptr: Array, indices: Array, data: Array, mesh: Mesh, cores: Array, state: Array) -> Array:
    """[parts] core of each part, a part on each of `cores`, after swaps."""
    groups = Graph(indptr, indices, data, np.ones(cores.size, np.int64))
    core_of_part = cores.astype(np.int32)
    anneal(groups, core_of_part, mesh, cores, 1, state, hot=1.0, cold=0.001, sweeps=_PLACEMENT_SWEEPS)
    return core_of_part
