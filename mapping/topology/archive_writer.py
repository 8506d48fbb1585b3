"""Writes an archive of a topology in blocks, without holding the network in memory."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...support.errors import InputError
from ...support.files import open_atomically
from . import archive_kernels as kernels
from .archive_format import (
    BLOCK_TARGET,
    BLOCK_VERTICES,
    FLAGS,
    HEADER_MEMBER,
    ROW_MOST,
    Header,
    Kind,
    block_name,
    member_info,
)
from .topology import LIMIT, integers
from .varint import encode_varints

COMPRESSION = 4
"""Level of compression of zlib: higher levels take up to three times as long and save 2%."""


class ArchiveWriter:
    """
    A topology file that is written row by row. It appears under its name when the `with` block ends without an error.

        with ArchiveWriter("net.zip", "directed", size) as archive:
            for indptr, others, weights, flags in pieces:  # vertices 0, 1, 2, ... in order
                archive.add(indptr, others, weights, flags)

    Holds the sizes of all vertices and one block of about a megabyte in memory. The file's bytes do not depend on how
    the rows are cut into pieces.
    """

    def __init__(self, path: str | Path, kind: Kind, size: ArrayLike, compression: int = COMPRESSION) -> None:
        """`size`: [n] size of every vertex, >= 0; `kind`: which flags records may have (`archive_format.FLAGS`)."""
        self.path = Path(path)
        self.kind: Kind = kind
        self.size = integers("size", size).astype(np.int64, copy=False)
        self.compression = compression
        self.added: int = 0
        """Number of vertices whose rows have been added."""
        self._written: int = 0
        self._records: int = 0
        self._block_records: int = 0
        self._blocks: int = 0
        self._buffer = np.empty(BLOCK_TARGET + (1 << 16), np.uint8)
        self._used: int = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        file = self._stack.enter_context(open_atomically(self.path))
        self._archive = self._stack.enter_context(zipfile.ZipFile(file, "w"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            if self.added != self.size.size:
                raise InputError(f"{self.path}: rows of {self.added} vertices given, there are {self.size.size}")
            self._end_block()
            header = Header(self.kind, self.size.size, self._records, self._blocks)
            self._write(HEADER_MEMBER, header.text().encode())

    def add(self, indptr: ArrayLike, others: ArrayLike, weights: ArrayLike, flags: ArrayLike | int) -> None:
        """
        Add the records of the next vertices: `indptr` [k + 1] from 0, `others`, `weights` and `flags` [indptr[k]].

        Raises InputError if there are more vertices than sizes, a number is out of range, or the archive's kind does
        not have a flag.
        """
        starts = integers("indptr", indptr).astype(np.int64, copy=False)
        others_ = integers("others", others, max(self.size.size - 1, 0))
        weights_ = integers("weights", weights, LIMIT // 2 - 1)
        flags_: NDArray[np.uint8] = np.broadcast_to(np.asarray(flags, np.uint8), others_.shape)
        if starts.size == 0 or starts[0] != 0 or starts[-1] != others_.size or bool((starts[1:] < starts[:-1]).any()):
            raise InputError(f"{self.path}: indptr must rise from 0 to the {others_.size} records")
        if weights_.size != others_.size or self.added + starts.size - 1 > self.size.size:
            raise InputError(f"{self.path}: {weights_.size} weights for {others_.size} records, or too many vertices")
        if not bool(np.isin(flags_, FLAGS[self.kind]).all()):
            raise InputError(f"{self.path}: a record with a flag that {self.kind} archives do not have")
        self._add(starts, others_, weights_, np.ascontiguousarray(flags_))

    def _add(
        self, indptr: NDArray[np.int64], others: NDArray[Any], weights: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        rows = indptr.size - 1
        row = 0
        while row < rows:
            last = min(rows, row + BLOCK_VERTICES - (self.added - self._written))
            begun = row
            row, self._used, needed = kernels.encode_rows(
                self._buffer, self._used, row, last, BLOCK_TARGET, indptr, flags, others, weights, self.size
            )
            self.added += row - begun
            self._block_records += int(indptr[row] - indptr[begun])
            if needed > ROW_MOST:
                raise InputError(f"{self.path}: vertex {self.added} has too many edges ({needed} bytes of records)")
            if needed:
                grown = np.empty(self._used + needed, np.uint8)
                grown[: self._used] = self._buffer[: self._used]
                self._buffer = grown
            elif self._used >= BLOCK_TARGET or self.added - self._written == BLOCK_VERTICES:
                self._end_block()

    def _end_block(self) -> None:
        if self.added == self._written:
            return
        count = self.added - self._written
        head = encode_varints([self._written, count, self._block_records])
        sizes = encode_varints(self.size[self._written : self.added])
        self._write(block_name(self._written), head + sizes + self._buffer[: self._used].tobytes())
        self._records += self._block_records
        self._blocks += 1
        self._written = self.added
        self._block_records = 0
        self._used = 0

    def _write(self, name: str, data: bytes) -> None:
        self._archive.writestr(member_info(name), data, zipfile.ZIP_DEFLATED, self.compression)
