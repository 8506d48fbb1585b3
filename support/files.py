"""Atomic writing of files: a failure leaves no partial file, and existing files unchanged."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from .errors import MeshloomError
from .interrupts import unfinished


def write_atomically(path: str | Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`; see `open_atomically`."""
    write_chunks(path, [data.encode("utf-8") if isinstance(data, str) else data])


def write_chunks(path: str | Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write `chunks` one after another to `path`; see `open_atomically`."""
    with open_atomically(path) as file:
        for chunk in chunks:
            file.write(chunk)


_together: ContextVar[list[tuple[str, Path]] | None] = ContextVar("together", default=None)
"""In a block of `all_or_none`: pairs of a complete temporary file and the file that it will replace."""


@contextmanager
def all_or_none() -> Generator[None]:
    """All files written in the block are renamed to their paths when it ends; none, if it ends with an error."""
    done: list[tuple[str, Path]] = []
    token = _together.set(done)
    try:
        yield
        for temporary, target in done:
            _replace(temporary, target)
    finally:
        _together.reset(token)
        for temporary, _ in done:
            _remove(temporary)


@contextmanager
def open_atomically(path: str | Path) -> Generator[BinaryIO]:
    """
    A temporary file in the same folder, renamed to `path` when the block ends without an error (see `all_or_none`).

    Symbolic links are followed; devices and pipes (`/dev/null`, `/dev/stdout`) are written to directly, not replaced.
    Raises MeshloomError (naming the file and the system's reason); then `path` is unchanged.
    """
    temporary = ""
    try:
        if _takes_a_stream(path):
            with open(path, "wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        unfinished.add(temporary)
        with os.fdopen(handle, "w+b") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        if (together := _together.get()) is None:
            _replace(temporary, target)
        else:
            together.append((temporary, target))
            temporary = ""
    except OSError as error:
        raise MeshloomError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary:
            _remove(temporary)


def _replace(temporary: str, target: Path) -> None:
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise MeshloomError(f"cannot write {target}: {error.strerror or error}") from error


def _remove(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)
    unfinished.discard(temporary)


def _takes_a_stream(path: str | Path) -> bool:
    """Whether `path` exists and is neither a regular file nor a folder."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False
