"""Write files so that a failure leaves nothing half-written and nothing of the user's destroyed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import MeshloomError
from .interrupts import unfinished


def write_atomically(path: str | Path, data: bytes | str) -> None:
    """Write `data` to `path`; see `write_pieces`."""
    write_pieces(path, [data.encode("utf-8") if isinstance(data, str) else data])


def write_pieces(path: str | Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write `pieces` one after another; see `open_atomically`."""
    with open_atomically(path) as file:
        for piece in pieces:
            file.write(piece)


@contextmanager
def open_atomically(path: str | Path) -> Generator[BinaryIO]:
    """
    A temporary file in the same folder, renamed to `path` when the block ends without an error.

    Links are followed; devices and pipes (`/dev/null`, `/dev/stdout`) are written to as they are, never replaced.
    Raises MeshloomError (naming the file and the system's reason); then `path` is as it was before.
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
        os.replace(temporary, target)
    except OSError as error:
        raise MeshloomError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
            unfinished.discard(temporary)


def _takes_a_stream(path: str | Path) -> bool:
    """Whether `path` is there and neither a file nor a folder."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False
