"""
Reads and writes Matrix Market files (`.mtx`; Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR
5935).

A square sparse matrix is a topology: a `symmetric` matrix is an undirected graph, a `general` one has directed edges,
entry (i, j) from i to j. Values are weights (whole numbers >= 0; `pattern` means ones). The format has no sizes of
vertices.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from ...support.files import write_chunks
from . import csr_kernels
from .number_text import parse_lines, print_lines, read_text
from .topology import Topology, from_directed, make_topology

_FIELDS = ("integer", "real", "pattern")
_SYMMETRIES = ("general", "symmetric")


def read_matrix_market(path: str | Path) -> Topology:
    """Read a `.mtx` file. Raises InputError with the name of the file and the error."""
    text = read_text(path)
    banner, _, body = text.partition(b"\n")
    words = banner.decode("utf-8", "replace").lower().split()
    if words[:3] != ["%%matrixmarket", "matrix", "coordinate"] or len(words) != 5:
        raise InputError(f"{path}: does not start with '%%MatrixMarket matrix coordinate FIELD SYMMETRY'")
    field, symmetry = words[3:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES:
        raise InputError(
            f"{path}: {field} {symmetry} matrices are not supported: expected {', '.join(_FIELDS)}; "
            f"{' or '.join(_SYMMETRIES)}"
        )
    values, ends = parse_lines(path, body, 2)
    filled = np.flatnonzero(np.diff(ends, prepend=0))  # blank lines are allowed anywhere
    ends = ends[filled]
    rows, columns, count = values[:3].tolist() if ends.size and ends[0] == 3 else (-1, -1, -1)
    if rows < 0 or rows != columns:
        raise InputError(f"{path}: the line of sizes should hold rows, columns (as many) and entries")
    per_line = 2 if field == "pattern" else 3
    if ends.size - 1 != count or (np.diff(ends) != per_line).any():
        raise InputError(f"{path}: expected {count} lines of {per_line} numbers after the line of sizes")
    entries = values[3:].reshape(count, per_line)
    ids = entries[:, :2] - 1
    if count and (ids.min() < 0 or ids.max() >= rows):
        raise InputError(f"{path}: an entry ({entries[:, :2].min()} to {entries[:, :2].max()}) outside 1 to {rows}")
    weights = entries[:, 2] if per_line == 3 else np.ones(count, np.int64)
    try:
        return _topology(rows, ids[:, 0], ids[:, 1], weights, symmetry == "symmetric")
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_matrix_market(topology: Topology, path: str | Path) -> None:
    """
    Write the directed edges if they are known (`general`), else the undirected graph (`symmetric`).

    Raises InputError if a vertex has a size other than 1, which the format cannot represent; MeshloomError if writing
    fails.
    """
    if bool((topology.size != 1).any()):
        raise InputError(f"{path}: Matrix Market files have no sizes of vertices; use .npz, .zip or .graph")
    write_chunks(path, _chunks(topology))


def _topology(
    n: int, rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[np.int64], symmetric: bool
) -> Topology:
    if symmetric:  # the file has one triangle, and the diagonal once
        off = rows != columns
        rows, columns, weights = (
            np.concatenate([rows, columns[off]]),
            np.concatenate([columns, rows[off]]),
            np.concatenate([weights, weights[off]]),
        )
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    order = np.argsort(rows, kind="stable")
    if symmetric:
        return make_topology(indptr, columns[order], weights[order])
    return from_directed(indptr, columns[order], weights[order])


def _chunks(topology: Topology) -> Generator[bytes]:
    if topology.src_indptr is None or topology.src_indices is None or topology.spikes is None:
        indptr, columns, weights, symmetry = topology.indptr, topology.indices, topology.data, "symmetric"
    else:
        arrays = (topology.src_indptr, topology.src_indices, topology.spikes.astype(np.int64))
        # Entries of a matrix are unique; spikes to one target add up.
        indptr, columns, weights = csr_kernels.merge_rows(*arrays)
        symmetry = "general"
    rows = np.repeat(np.arange(topology.vertices), np.diff(indptr))
    keep = columns < rows if symmetry == "symmetric" else slice(None)  # the lower triangle
    entries = np.stack([rows[keep] + 1, columns[keep].astype(np.int64) + 1, weights[keep].astype(np.int64)], axis=1)
    n = topology.vertices
    yield f"%%MatrixMarket matrix coordinate integer {symmetry}\n{n} {n} {len(entries)}\n".encode()
    yield from print_lines(entries.ravel(), 3 * np.arange(1, len(entries) + 1))
