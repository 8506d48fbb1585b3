"""Reads an archive of a topology in blocks, without holding the network in memory."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...support.errors import InputError
from . import archive_kernels as kernels
from .archive_format import (
    BLOCK_MOST,
    BLOCK_VERTICES,
    FLAGS,
    HEADER_MEMBER,
    INCOMING,
    OUTGOING,
    UNDIRECTED,
    Header,
    Kind,
    block_name,
    parse_header,
)
from .archive_members import Members
from .varint import MOST_BYTES, get

_LEAST_RECORD = 4
_LEAST_VERTEX = 2
_MOST_SUM = 1 << 61
_HEAD_MOST = 3 * MOST_BYTES
_FOUND = {
    kernels.BAD_NUMBER: "a number that is truncated or longer than nine bytes",
    kernels.BAD_FLAG: "a flag that this archive does not have",
    kernels.BAD_VERTEX: "an edge to a vertex that does not exist",
    kernels.BAD_SIZE: "a size that is too large or differs from another record",
    kernels.BAD_WEIGHT: "a weight of 2^61 or more",
    kernels.BAD_COUNT: "a number of edges that differs from the block's header",
    kernels.LEFT_OVER: "bytes after the last edge",
}


@dataclass(frozen=True, slots=True)
class Block:
    """The records of vertices `first` to `first + k - 1`."""

    first: int
    indptr: NDArray[np.int64]
    """[k + 1] index of the first record of each vertex"""
    others: NDArray[Any]
    """[r] the other vertex of each record; int32 (int64 where there are too many vertices)"""
    weights: NDArray[np.int64]
    """[r]"""
    flags: NDArray[np.uint8]
    """[r] OUTGOING, INCOMING or UNDIRECTED"""

    def outgoing(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """The edges that start at these vertices as CSR, in the order of the file: indptr [k + 1], targets, spikes."""
        keep = self.flags == OUTGOING
        before = np.zeros(keep.size + 1, np.int64)
        np.cumsum(keep, out=before[1:])
        return before[self.indptr], self.others[keep], self.weights[keep]

    def undirected(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """
        The undirected graph as CSR: rows are ascending; parallel edges and both directions are added up.

        Rows are complete, unless the archive is of kind "outgoing", in which only the source has a record of an edge.
        """
        both = bool((self.flags == UNDIRECTED).any())
        keep = self.flags == UNDIRECTED if both else np.ones(self.flags.size, np.bool_)
        return kernels.undirected_rows(self.indptr, keep, self.others, self.weights, self.first)


class ArchiveReader:
    """
    The archive at `path`, which has blocks of vertices, or one member for each vertex.

        with ArchiveReader("net.zip") as archive:
            for block in archive.blocks():
                ...

    Holds the sizes of all vertices and one block in memory. Any error in the file raises InputError with the names of
    the file and the member.
    """

    size: NDArray[np.int64]
    """[n] size of every vertex"""

    kind: Kind
    """Which flags the records have."""

    records: int | None
    """Number of edge records of the archive; None if the archive does not state it (one member per vertex)."""

    def __init__(self, path: str | Path) -> None:
        self.members = Members(path)
        try:
            if HEADER_MEMBER in self.members.by_name or not self._all_numbers():
                self._open_blocks()
            else:
                self._open_vertices()
        except BaseException:
            self.close()
            raise

    @property
    def vertices(self) -> int:
        """Number of vertices, n."""
        return self.size.size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.members.close()

    def blocks(self) -> Generator[Block]:
        """
        All blocks in the order of their vertices.

        Raises InputError as soon as an error is found; at the end, if only one end of an edge has a record of it.
        """
        balance = np.zeros(1, np.uint64)
        records = 0
        for name, first, count in self._index:
            block = self._read_block(name, first, count, balance)
            records += block.others.size
            yield block
        if self.records is not None and records != self.records:
            raise InputError(f"{self.members.path}: {records} records, {HEADER_MEMBER} says {self.records}")
        if balance[0] and self.kind != "outgoing":
            raise InputError(f"{self.members.path}: an edge is stored at one of its vertices only, or with two weights")

    def _all_numbers(self) -> bool:
        names = self.members.by_name
        return bool(names) and all(name.isascii() and name.isdecimal() for name in names)

    def _open_blocks(self) -> None:
        with self.members.damage(HEADER_MEMBER):
            header = parse_header(self.members.read(HEADER_MEMBER, 1000))
        infos = self.members.by_name.values()
        space = sum(info.file_size for info in infos)
        if header.records * _LEAST_RECORD + header.vertices * _LEAST_VERTEX > space or header.blocks > len(infos):
            raise InputError(
                f"{self.members.path}: {HEADER_MEMBER}: more vertices, records or blocks than fit the file"
            )
        self.kind, self.records = header.kind, header.records
        self.size = np.zeros(header.vertices, np.int64)
        self._index = self._read_index(header)
        self._rows = _after_sizes

    def _read_index(self, header: Header) -> list[tuple[str, int, int]]:
        """Read the sizes. Returns the name, first vertex and number of vertices of all blocks."""
        index: list[tuple[str, int, int]] = []
        first = 0
        while first < header.vertices:
            name = block_name(first)
            head = self.members.read(name, BLOCK_MOST, _HEAD_MOST)
            with self.members.damage(name):
                start, count, _, at = _head(head)
                if start != first or not 0 < count <= min(BLOCK_VERTICES, header.vertices - first):
                    raise InputError(f"{count} vertices from {start} on, where vertex {first} is expected")
                data = self.members.read(name, BLOCK_MOST, at + count * MOST_BYTES)
                found, _ = kernels.decode_sizes(np.frombuffer(data, np.uint8), at, self.size[first : first + count])
                _complain(found, first)
            index.append((name, first, count))
            first += count
        if len(index) != header.blocks or len(index) + 1 != len(self.members.by_name):
            raise InputError(f"{self.members.path}: other members than the {header.blocks} blocks and {HEADER_MEMBER}")
        if self.size.sum(dtype=np.float64) >= _MOST_SUM:
            raise InputError(f"{self.members.path}: the sum of the sizes exceeds 2^61")
        return index

    def _open_vertices(self) -> None:
        """
        Open an archive with one member per vertex, named by its number. The sizes are collected by reading all records
        once.
        """
        names = self.members.by_name
        n = len(names)
        for v in range(n):
            if str(v) not in names:
                raise InputError(f"{self.members.path}: {v}: this member is missing")
        self._index = [(str(v), v, 1) for v in range(n)]
        self._rows = _at_once
        self.records = None
        self.kind = "both"
        self.size = np.full(n, -1, np.int64)
        balance = np.zeros(1, np.uint64)
        seen: set[int] = set()
        for name, first, count in self._index:
            seen.update(np.unique(self._read_block(name, first, count, balance, 0b111).flags).tolist())
        self.size[self.size < 0] = 1
        self.kind = self._kind_of(seen)

    def _kind_of(self, seen: set[int]) -> Kind:
        """The kind of archive whose flags are `seen`."""
        if seen == {INCOMING}:
            return "directed"  # incomplete; `blocks` will raise the error
        for kind in ("undirected", "outgoing", "directed", "both"):
            if seen <= set(FLAGS[kind]):
                return kind
        raise InputError(f"{self.members.path}: both incoming and undirected edges")

    def _read_block(
        self, name: str, first: int, count: int, balance: NDArray[np.uint64], allowed: int | None = None
    ) -> Block:
        data = np.frombuffer(self.members.read(name, BLOCK_MOST), np.uint8)
        with self.members.damage(name):
            at, records = self._rows(data, count)
            if records * _LEAST_RECORD > data.size:
                raise InputError(f"{records} edges do not fit its {data.size} bytes")
            indptr = np.zeros(count + 1, np.int64)
            flags = np.empty(records, np.uint8)
            others = np.empty(records, np.int32 if self.vertices < 1 << 31 else np.int64)
            weights = np.empty(records, np.int64)
            if allowed is None:
                allowed = sum(1 << flag for flag in FLAGS[self.kind])
            _complain(
                *kernels.decode_rows(data, at, first, allowed, self.size, indptr, flags, others, weights, balance)
            )
        return Block(first, indptr, others, weights, flags)


def _head(data: bytes) -> tuple[int, int, int, int]:
    """First vertex, number of vertices, number of records, and the index at which the sizes start."""
    values: list[int] = []
    at = 0
    for _ in range(3):
        value, at = get(np.frombuffer(data, np.uint8), at, len(data))
        _complain(kernels.FINE if at >= 0 else kernels.BAD_NUMBER, None)
        values.append(value)
    return values[0], values[1], values[2], at


def _after_sizes(data: NDArray[np.uint8], count: int) -> tuple[int, int]:
    """The index at which the rows of a block start, and its number of records."""
    _, _, records, at = _head(data[:_HEAD_MOST].tobytes())
    found, at = kernels.decode_sizes(data, at, np.empty(count, np.int64))
    _complain(found, None)
    return at, records


def _at_once(data: NDArray[np.uint8], count: int) -> tuple[int, int]:
    """As `_after_sizes`, for a member of one vertex, which starts with the number of its records."""
    records, at = get(data, 0, data.size)
    _complain(kernels.FINE if at >= 0 else kernels.BAD_NUMBER, None)
    return 0, records


def _complain(found: int, vertex: int | None) -> None:
    if found != kernels.FINE:
        raise InputError(_FOUND[found] + ("" if vertex is None else f" (vertex {vertex})"))
