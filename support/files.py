"""Write files so that a failure leaves nothing half-written and nothing of the user's destroyed."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from .errors import MeshloomError


def write_atomically(path: str | Path, data: bytes | str) -> None:
    """
    Write `data` to `path` by way of a temporary file in the same folder, renamed when complete.

    Raises MeshloomError (naming the file and the system's reason); then `path` is as it was before.
    """
    path = Path(path)
    raw = data.encode("utf-8") if isinstance(data, str) else data
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        raise MeshloomError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
