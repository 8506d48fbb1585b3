"""
Reads and writes METIS graph files (`.graph`; METIS 5 manual, section 4.1.1).

A header `vertices edges [format [constraints]]` is followed by one line per vertex: [size] [weights] (neighbour
[weight])...; the three digits of the format tell whether there are vertex sizes, vertex weights, edge weights. Ids
start at 1; lines that start with % are comments. METIS balances the vertex weights, so these are the sizes of the
topology; METIS's "vertex size" (volume of communication) is used as size only if there are no weights.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ...support.files import write_chunks
from ...support.jit import jit
from .number_text import parse_lines, print_lines, read_text
from .topology import Topology, make_topology

_FORMATS = {0, 1, 10, 11, 100, 101, 110, 111}


def read_metis(path: str | Path) -> Topology:
    """Read a `.graph` file. Raises InputError naming the file and the first line that is wrong."""
    values, ends = parse_lines(path, read_text(path))
    header: list[int] = values[: ends[0]].tolist() if ends.size else []
    if not 2 <= len(header) <= 4:
        raise InputError(f"{path}: the first line holds {len(header)} numbers, expected vertices, edges [, format]")
    n, m = header[:2]
    form = header[2] if len(header) > 2 else 0
    if form not in _FORMATS:
        raise InputError(f"{path}: format {form}, expected three digits 0 or 1")
    has_size, has_weight, has_edge_weight = form >= 100, form // 10 % 10 == 1, form % 10 == 1
    if len(header) == 4 and header[3] != 1:
        raise InputError(f"{path}: {header[3]} weights per vertex, expected one")
    rows = ends[: n + 1]
    if rows.size != n + 1 or ends[-1] != rows[-1]:  # blank lines after the last vertex's line do not belong to a vertex
        raise InputError(f"{path}: {ends.size - 1} lines of vertices, the first line says {n}")
    skipped, step = int(has_size) + int(has_weight), 1 + int(has_edge_weight)
    lengths = np.diff(rows) - skipped
    if (bad := np.flatnonzero((lengths < 0) | (lengths % step != 0))).size:
        raise InputError(f"{path}: the line of vertex {int(bad[0]) + 1} has {int(lengths[bad[0]]) + skipped} numbers")
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(lengths // step, out=indptr[1:])
    if indptr[-1] != 2 * m:
        raise InputError(f"{path}: {indptr[-1]} neighbours in all lines, the first line says {m} edges, twice as many")
    size = values[ends[:n] + skipped - 1] if skipped else None
    indices = np.empty(2 * m, np.int64)
    data = np.ones(2 * m, np.int64)
    _split(values, ends, indptr, skipped, step, indices, data)
    if (bad := np.flatnonzero((indices < 0) | (indices >= n))).size:
        vertex = int(np.searchsorted(indptr, int(bad[0]), side="right"))
        raise InputError(f"{path}: vertex {vertex} has neighbour {indices[bad[0]] + 1}, expected 1 to {n}")
    try:
        return make_topology(indptr, indices, data, size)
    except InputError as error:
        raise InputError(f"{path}: {error} (ids from 0)") from error


def write_metis(topology: Topology, path: str | Path) -> None:
    """
    Write the undirected graph of `topology`, with vertex and edge weights if they are not all 1.

    METIS requires weights of at least 1; those of the topology are written unchanged. Raises MeshloomError if writing
    fails.
    """
    write_chunks(path, _chunks(topology))


def _chunks(topology: Topology) -> Generator[bytes]:
    sizes, weights = bool((topology.size != 1).any()), bool((topology.data != 1).any())
    n = topology.vertices
    form = f" 0{int(sizes)}{int(weights)}" if sizes or weights else ""
    yield f"{n} {topology.edges}{form}\n".encode()
    step = 1 + int(weights)
    ends = topology.indptr[1:] * step + (np.arange(1, n + 1) if sizes else 0)
    values = np.empty(int(ends[-1]) if n else 0, np.int64)
    _join(values, topology.indptr, topology.indices, topology.data, topology.size, sizes, weights)
    yield from print_lines(values, ends)


@jit
def _split(
    values: NDArray[np.int64],
    ends: NDArray[np.int64],
    indptr: NDArray[np.int64],
    skipped: int,
    step: int,
    indices: NDArray[np.int64],
    data: NDArray[np.int64],
) -> None:
    for u in range(indptr.size - 1):
        at = ends[u] + skipped
        for k in range(indptr[u], indptr[u + 1]):
            indices[k] = values[at] - 1
            if step == 2:
                data[k] = values[at + 1]
            at += step


@jit
def _join(
    values: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    data: NDArray[Any],
    size: NDArray[np.int64],
    sizes: bool,
    weights: bool,
) -> None:
    at = 0
    for u in range(indptr.size - 1):
        if sizes:
            values[at] = size[u]
            at += 1
        for k in range(indptr[u], indptr[u + 1]):
            values[at] = indices[k] + 1
            at += 1
            if weights:
                values[at] = data[k]
                at += 1
