"""
The store of weights: a process-wide, content-addressed store of bytes, and memory-mapped files.

The textual IR names a weight by `source`, `offset`, `bytes` and `sha256` (`dataflow.weight`) and never holds its
data; `coreasm.data` does so for the contents of a chip's memories. `source` is the path of a file (an `.onnx`, one of
its external data files, or a side file written by `externalise`), or `mem`: then the bytes are in this process, found
by their SHA-256. The bytes are raw, little-endian and row-major; booleans take one byte each. A file is checked against
the SHA-256 when it is first read, and again when its size or modification time has changed since.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InputError
from ..support.input_files import check_regular

if TYPE_CHECKING:
    from collections.abc import Sequence


MEMORY = "mem"
"""The `source` of weights whose bytes are in this process only."""

ALIGNMENT = 64
"""Offsets in side files are multiples of this many bytes."""


@dataclass(frozen=True)
class WeightRef:
    """Reference to `bytes` raw bytes at `offset` of the file `source` (`mem`: in memory), with their SHA-256 in hex."""

    source: str
    offset: int
    bytes: int
    sha256: str


def raw_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The little-endian, row-major bytes of `array` (any dtype and rank), as a flat array; copies only if it must."""
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def sha256_of(data: NDArray[np.uint8]) -> str:
    """SHA-256 of flat bytes, in hex."""
    return hashlib.sha256(data.data).hexdigest()


@dataclass
class WeightStore:
    """Finds the bytes of a `WeightRef`; keeps the arrays given to `put` until the process ends."""

    search_path: list[Path] = field(default_factory=list[Path])
    """Folders in which relative sources are searched after the working directory: those of IR files that were read."""

    _memory: dict[str, NDArray[np.uint8]] = field(default_factory=dict[str, NDArray[np.uint8]])
    _maps: dict[tuple[str, int, int], NDArray[np.uint8]] = field(
        default_factory=dict[tuple[str, int, int], NDArray[np.uint8]]
    )
    _checked: set[tuple[str, int, int, WeightRef]] = field(default_factory=set[tuple[str, int, int, WeightRef]])

    def put(self, array: NDArray[Any]) -> WeightRef:
        """Keep the bytes of `array` (equal bytes are kept once) and return a reference to them."""
        data = raw_bytes(array)
        digest = sha256_of(data)
        if digest not in self._memory:
            # A read-only copy, as the caller may change its array later.
            data = data.copy()
            data.flags.writeable = False
            self._memory[digest] = data
        return WeightRef(MEMORY, 0, len(data), digest)

    def get(
        self, ref: WeightRef, dtype: np.dtype[Any] | None = None, shape: Sequence[int] | None = None
    ) -> NDArray[Any]:
        """
        The bytes of `ref`, read-only; with `dtype` and `shape`, as an array of that type and shape.

        Raises InputError if the file is missing, too short or has other bytes, if bytes in memory are unknown to this
        process, or if type and shape do not match the number of bytes.
        """
        data = self._in_memory(ref) if ref.source == MEMORY else self._in_file(ref)
        if dtype is None:
            return data
        shape = (len(data) // dtype.itemsize,) if shape is None else tuple(shape)
        if int(np.prod(shape, dtype=np.int64)) * dtype.itemsize != len(data):
            raise InputError(f"weight of {len(data)} bytes in {ref.source} does not fit its type {shape} of {dtype}")
        return data.view(dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)

    def _candidates(self, source: str) -> list[Path]:
        """All existing files that `source` may refer to. Raises InputError if there is none."""
        folders = [] if os.path.isabs(source) else self.search_path
        paths = [Path(source), *(folder / source for folder in folders)]
        for path in paths:
            check_regular(path)
        found = [path for path in paths if path.is_file()]
        if not found:
            raise InputError(f"weights file {source} is missing; put it back or import the model again")
        return found

    def search_beside(self, path: str | Path) -> None:
        """Search for relative sources in the folder of the file `path`, too."""
        folder = Path(path).absolute().parent
        if folder not in self.search_path:
            self.search_path.insert(0, folder)

    def _in_memory(self, ref: WeightRef) -> NDArray[np.uint8]:
        data = self._memory.get(ref.sha256)
        if data is None or len(data) != ref.bytes:
            raise InputError(
                f"weight {ref.sha256[:12]}... is not in this process: write the IR with -o, which stores its "
                "weights in a side file"
            )
        return data

    def _in_file(self, ref: WeightRef) -> NDArray[np.uint8]:
        return self._in_file_at(self.file_of(ref), ref)

    def file_of(self, ref: WeightRef) -> Path:
        """
        The first file with the name `ref.source` that has the bytes: modules in several folders may use the same name.
        Raises InputError if there is none.
        """
        failed: InputError | None = None
        for path in self._candidates(ref.source):
            try:
                self._in_file_at(path, ref)
                return path
            except InputError as error:
                failed = failed or error
        assert failed is not None, "there is at least one candidate"
        raise failed

    def _in_file_at(self, path: Path, ref: WeightRef) -> NDArray[np.uint8]:
        try:
            status = path.stat()
            key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
            mapped = self._maps.get(key)
            if mapped is None:
                mapped = np.memmap(path, np.uint8, mode="r") if status.st_size else np.zeros(0, np.uint8)
                self._maps[key] = mapped
        except OSError as error:
            raise InputError(f"cannot read weights file {path}: {error.strerror or error}") from error
        end = ref.offset + ref.bytes
        if ref.offset < 0 or ref.bytes < 0 or end > len(mapped):
            raise InputError(
                f"weights file {path} is too short: {len(mapped)} bytes, where a weight ends at byte {end}"
            )
        data = mapped[ref.offset : end]
        if (*key, ref) not in self._checked:
            if sha256_of(data) != ref.sha256:
                raise InputError(
                    f"weights file {path} has changed: bytes {ref.offset} to {end} do not have SHA-256"
                    f" {ref.sha256[:12]}...; import the model again"
                )
            self._checked.add((*key, ref))
        return data


STORE = WeightStore()
"""The store of this process."""
