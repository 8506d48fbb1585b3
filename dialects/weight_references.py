"""Files for the bytes that operations refer to (`ReferenceOp`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..formats.weights import ALIGNMENT, MEMORY, STORE, WeightRef
from ..support.files import write_atomically

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .reference import ReferenceOp


def externalise(module: ModuleOp, path: str | Path, name: str | None = None) -> int:
    """
    Write the bytes of every `mem` reference of `module` (`dialects.reference`) to the side file `path` (atomically,
    equal bytes once), and change the references to it; `name` is its name in them, if given.

    Returns the bytes written; 0 means that nothing had to be written and there is no side file.
    Raises MeshloomError if the file cannot be written; the module is unchanged then.
    """
    file = SideFile(Path(path), str(path) if name is None else name)
    file.take(module)
    return file.size


def keep_sources(module: ModuleOp, folder: Path) -> None:
    """
    Change the references of a module that will be written to `folder` so that they still refer to the same files: files
    that were found relative to the module's own text get their path relative to `folder`.

    Raises InputError for a file that is missing.
    """
    from xdsl.dialects.builtin import StringAttr

    from .reference import ReferenceOp

    for op in module.walk():
        if isinstance(op, ReferenceOp) and (source := op.source.data) != MEMORY and not os.path.isabs(source):
            file = STORE.file_of(reference_of(op))
            if not any(path.is_file() and path.samefile(file) for path in (Path(source), folder / source)):
                op.source = StringAttr(os.path.relpath(file, folder))


class SideFile:
    """A side file for bytes of `mem` references, of one module or several; it is rewritten when bytes are added."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """`name`: the file's name in references; by default the name of `path`."""
        self._path, self._name = path, path.name if name is None else name
        self._content = bytearray()
        self._offsets: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Bytes of the file; 0 if there is no file."""
        return len(self._content)

    def take(self, module: ModuleOp) -> None:
        """
        Add the bytes of every `mem` reference of a module to the file, and change the references to it.

        Raises MeshloomError if the file cannot be written; the module is unchanged then.
        """
        from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64

        from .reference import ReferenceOp

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
    """The reference to the bytes of an operation."""
    return WeightRef(op.source.data, op.offset.value.data, op.bytes.value.data, op.sha256.data)
