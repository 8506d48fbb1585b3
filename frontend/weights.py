"""
Where the bytes of weights live: a process-wide, content-addressed store and memory-mapped files.

The textual IR names a weight by `source`, `offset`, `bytes` and `sha256` (`dataflow.weight`) and never holds its
data; `coreasm.data` does so for what the memories of a chip hold. `source` is the path of a file (an `.onnx`, one of
its external data files, or a side file written by `externalise`), or `mem`: then the bytes are in this process, found
by their SHA-256. The bytes are raw, little-endian and row-major; booleans take one byte each. A file is checked against
the SHA-256 the first time it is read and again whenever its size or modification time has changed since.
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
from ..support.files import write_atomically
from ..support.input_files import check_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdsl.dialects.builtin import ModuleOp

    from ..dialects.reference import ReferenceOp

MEMORY = "mem"
"""The `source` of weights that live in this process only."""

ALIGNMENT = 64
"""Offsets in side files are multiples of this many bytes."""


@dataclass(frozen=True)
class WeightRef:
    """`bytes` raw bytes at `offset` of the file `source` (or of nothing: `mem`), with their SHA-256 in hex."""

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
    """Finds the bytes that a `WeightRef` names; keeps what was `put` for as long as the process lives."""

    search_path: list[Path] = field(default_factory=list[Path])
    """Folders where relative sources are looked for when they are not in the working directory: those of IR read."""

    _memory: dict[str, NDArray[np.uint8]] = field(default_factory=dict[str, NDArray[np.uint8]])
    _maps: dict[tuple[str, int, int], NDArray[np.uint8]] = field(
        default_factory=dict[tuple[str, int, int], NDArray[np.uint8]]
    )
    _checked: set[tuple[str, int, int, WeightRef]] = field(default_factory=set[tuple[str, int, int, WeightRef]])

    def put(self, array: NDArray[Any]) -> WeightRef:
        """Keep the bytes of `array` (equal bytes are kept once) and return their name."""
        data = raw_bytes(array)
        digest = sha256_of(data)
        if digest not in self._memory:
            # A private read-only copy: the caller may go on to change its array.
            data = data.copy()
            data.flags.writeable = False
            self._memory[digest] = data
        return WeightRef(MEMORY, 0, len(data), digest)

    def get(
        self, ref: WeightRef, dtype: np.dtype[Any] | None = None, shape: Sequence[int] | None = None
    ) -> NDArray[Any]:
        """
        The bytes of `ref`, read-only; with `dtype` and `shape` the array they stand for.

        Raises InputError if the file is missing, too short or holds other bytes, or if the process has no such bytes.
        """
        data = self._in_memory(ref) if ref.source == MEMORY else self._in_file(ref)
        if dtype is None:
            return data
        shape = (len(data) // dtype.itemsize,) if shape is None else tuple(shape)
        if int(np.prod(shape, dtype=np.int64)) * dtype.itemsize != len(data):
            raise InputError(f"weight of {len(data)} bytes in {ref.source} does not fit its type {shape} of {dtype}")
        return data.view(dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)

    def _candidates(self, source: str) -> list[Path]:
        """All files that `source` may name. Raises InputError where there is none."""
        folders = [] if os.path.isabs(source) else self.search_path
        paths = [Path(source), *(folder / source for folder in folders)]
        for path in paths:
            check_regular(path)
        found = [path for path in paths if path.is_file()]
        if not found:
            raise InputError(f"weights file {source} is missing; put it back or import the model again")
        return found

    def search_beside(self, path: str | Path) -> None:
        """Look for relative sources in the folder of the file `path`, too."""
        folder = Path(path).absolute().parent
        if folder not in self.search_path:
            self.search_path.insert(0, folder)

    def _in_memory(self, ref: WeightRef) -> NDArray[np.uint8]:
        data = self._memory.get(ref.sha256)
        if data is None or len(data) != ref.bytes:
            raise InputError(
                f"weight {ref.sha256[:12]}... is not in this process: IR that is to be read back must be written with"
                " -o, which puts its weights in a side file"
            )
        return data

    def _in_file(self, ref: WeightRef) -> NDArray[np.uint8]:
        return self._in_file_at(self.file_of(ref), ref)

    def file_of(self, ref: WeightRef) -> Path:
        """
        The first file of the name that has the bytes: modules of several folders may use the same name. Raises
        InputError where there is none.
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


def externalise(module: ModuleOp, path: str | Path, name: str | None = None) -> int:
    """
    Write the bytes of every `mem` reference of `module` (`dialects.reference`) to the side file `path` (atomically,
    equal bytes once) and let the ops name it, as `name` where one is given.

    Returns the bytes written; 0 means that nothing had to be written and there is no side file.
    Raises MeshloomError if the file cannot be written; the module is unchanged then.
    """
    file = SideFile(Path(path), str(path) if name is None else name)
    file.take(module)
    return file.size


def keep_sources(module: ModuleOp, folder: Path) -> None:
    """
    Let the references of a module that is written to `folder` name the files that they name now: those which were found
    beside the module's own text, by their path from there.

    Raises InputError for a file that is missing.
    """
    from xdsl.dialects.builtin import StringAttr

    from ..dialects.reference import ReferenceOp

    for op in module.walk():
        if isinstance(op, ReferenceOp) and (source := op.source.data) != MEMORY and not os.path.isabs(source):
            file = STORE.file_of(reference_of(op))
            if not any(path.is_file() and path.samefile(file) for path in (Path(source), folder / source)):
                op.source = StringAttr(os.path.relpath(file, folder))


class SideFile:
    """A file for bytes that only this process has, of one module or several; written anew when there are more."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """`name`: by which modules call it, its own if there is none."""
        self._path, self._name = path, path.name if name is None else name
        self._content = bytearray()
        self._offsets: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes of the file; 0: there is none."""
        return len(self._content)

    def take(self, module: ModuleOp) -> None:
        """
        Keep the bytes of every `mem` reference of a module, and let its operations name the file.

        Raises MeshloomError if the file cannot be written; the module is unchanged then.
        """
        from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

        from ..dialects.reference import ReferenceOp

        weights = [op for op in module.walk() if isinstance(op, ReferenceOp) and op.source.data == MEMORY]
        before = len(self._content)
        for op in weights:
            ref = reference_of(op)
            if ref.sha256 not in self._offsets:
                self._content.extend(bytes(-len(self._content) % ALIGNMENT))
                self._offsets[ref.sha256] = len(self._content)
                self._content.extend(STORE.get(ref).data)
        if len(self._content) != before:
            write_atomically(self._path, bytes(self._content))
        for op in weights:
            op.source = StringAttr(self._name)
            op.offset = IntegerAttr(self._offsets[op.sha256.data], i64)


def reference_of(op: ReferenceOp) -> WeightRef:
    """Where the bytes of an operation are."""
    return WeightRef(op.source.data, op.offset.value.data, op.bytes.value.data, op.sha256.data)
