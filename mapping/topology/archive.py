"""Reads and writes archives of whole topologies (`archive_writer` and `archive_reader` do the same in blocks)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from . import csr_kernels
from .archive_format import INCOMING, OUTGOING, UNDIRECTED, Kind
from .archive_reader import ArchiveReader
from .archive_writer import ArchiveWriter
from .gaps import CompressedGraph, Compressor
from .topology import Topology, from_directed, make_topology

_CHUNK = 1 << 20
"""Number of records that are written at a time."""

_Rows = tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], int]
"""CSR arrays and the flag of their records."""


def write_archive(topology: Topology, path: str | Path) -> None:
    """
    Write `topology`; with directed edges, as kind "directed" if the undirected weights are the sums of the spikes, else
    as kind "both".

    Raises MeshloomError if the file cannot be written.
    """
    undirected: _Rows = (topology.indptr, topology.indices, topology.data, UNDIRECTED)
    if topology.src_indptr is None or topology.src_indices is None or topology.spikes is None:
        _write(path, "undirected", topology.size, [undirected])
        return
    outgoing: _Rows = (topology.src_indptr, topology.src_indices, topology.spikes, OUTGOING)
    reverse = csr_kernels.transposed(*outgoing[:3])
    union = csr_kernels.union_with_transposed(*outgoing[:3], *reverse)
    if all(np.array_equal(a, b) for a, b in zip(union, undirected[:3], strict=True)):
        _write(path, "directed", topology.size, [outgoing, (*reverse, INCOMING)])
    else:
        _write(path, "both", topology.size, [undirected, outgoing])


def read_archive(path: str | Path) -> Topology:
    """Read the whole network at `path`. Raises InputError as `ArchiveReader` does."""
    with ArchiveReader(path) as archive:
        n = archive.vertices
        flags = (OUTGOING, UNDIRECTED)
        counts = [np.zeros(n + 1, np.int64) for _ in flags]
        others: list[list[NDArray[Any]]] = [[] for _ in flags]
        weights: list[list[NDArray[Any]]] = [[] for _ in flags]
        for block in archive.blocks():
            heaviest = int(block.weights.max(initial=0))
            kept = block.weights.astype(np.int32 if heaviest < 1 << 31 else np.int64, copy=False)
            for flag, count, ids, values in zip(flags, counts, others, weights, strict=True):
                keep = block.flags == flag
                before = np.zeros(keep.size + 1, np.int64)
                np.cumsum(keep, out=before[1:])
                count[block.first + 1 : block.first + block.indptr.size] = np.diff(before[block.indptr])
                ids.append(block.others[keep])
                values.append(kept[keep])
        size, kind = archive.size, archive.kind
    sources, pointers = (np.cumsum(count) for count in counts)
    targets, neighbours = (_joined(ids) for ids in others)
    spikes, data = (_joined(values) for values in weights)
    try:
        if kind == "both":
            return make_topology(pointers, neighbours, data, size, sources, targets, spikes)
        if kind == "undirected":
            return make_topology(pointers, neighbours, data, size)
        return from_directed(sources, targets, spikes, size)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_rows(
    path: str | Path, indptr: NDArray[np.int64], indices: NDArray[Any], data: NDArray[Any], size: NDArray[np.int64]
) -> None:
    """Write the rows of an undirected graph, in the given order. Raises MeshloomError if that fails."""
    _write(path, "undirected", size, [(indptr, indices, data, UNDIRECTED)])


def read_rows(path: str | Path) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """
    (indptr, indices, data, size) as they were given to `write_rows`; `data` is int32 if its values fit.

    Raises InputError as `ArchiveReader` does.
    """
    with ArchiveReader(path) as archive:
        indptr = np.zeros(archive.vertices + 1, np.int64)
        others: list[NDArray[Any]] = []
        weights: list[NDArray[Any]] = []
        for block in archive.blocks():
            indptr[block.first + 1 : block.first + block.indptr.size] = np.diff(block.indptr)
            others.append(block.others.astype(np.int32))
            heaviest = int(block.weights.max(initial=0))
            weights.append(block.weights.astype(np.int32 if heaviest < 1 << 31 else np.int64, copy=False))
        return np.cumsum(indptr), _joined(others), _joined(weights), archive.size


def _joined(chunks: list[NDArray[Any]]) -> NDArray[Any]:
    """The concatenation of `chunks`, which are freed."""
    whole = np.concatenate(chunks) if chunks else np.zeros(0, np.int32)
    chunks.clear()
    return whole


def _write(path: str | Path, kind: Kind, size: NDArray[np.int64], parts: list[_Rows]) -> None:
    """Write an archive in which each vertex has its rows of all `parts`, one after the other."""
    total: NDArray[np.int64] = np.zeros(size.size + 1, np.int64)
    for indptr, _, _, _ in parts:
        total += indptr
    with ArchiveWriter(path, kind, size) as archive:
        first = 0
        while first < size.size:
            last = int(np.searchsorted(total, int(total[first]) + _CHUNK, side="right")) - 1
            last = min(max(last, first + 1), size.size)
            archive.add(*_interleaved(parts, first, last))
            first = last


def _interleaved(
    parts: list[_Rows], first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any], NDArray[np.uint8]]:
    """The rows `first` to `last` - 1 of all parts as CSR, with each vertex's rows joined, and the flags."""
    chunks = [slice(int(indptr[first]), int(indptr[last])) for indptr, _, _, _ in parts]
    rows = np.concatenate([np.repeat(np.arange(last - first), np.diff(p[0][first : last + 1])) for p in parts])
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(last - first + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=last - first), out=indptr[1:])
    others = np.concatenate([p[1][s] for p, s in zip(parts, chunks, strict=True)])
    weights = np.concatenate([p[2][s] for p, s in zip(parts, chunks, strict=True)])
    flags = np.concatenate([np.full(s.stop - s.start, p[3], np.uint8) for p, s in zip(parts, chunks, strict=True)])
    return indptr, others[order], weights[order], flags[order]


def compress_archive(path: str | Path) -> CompressedGraph:
    """
    The undirected graph of the archive at `path`, compressed while it is read, so that it is never expanded in memory.

    Raises InputError as `ArchiveReader` does, and for archives of kind "outgoing", whose rows are incomplete.
    """
    with ArchiveReader(path) as archive:
        if archive.kind == "outgoing":
            raise InputError(f"{path}: edges are stored with their source only: rewrite it with both ends first")
        compressor = Compressor(archive.vertices)
        for block in archive.blocks():
            compressor.add(*block.undirected())
    return compressor.finish()
