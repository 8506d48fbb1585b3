"""
Files that are read: regular files, and nothing that a read could wait on or never come to the end of.

Users name files, and so do models (external data), textual IR (weights) and listings. A name can be that of a pipe or
a device: to open a pipe waits for a writer, and `/dev/zero` has no end. So each of them is checked here first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def check_regular(path: str | Path) -> None:
    """Raises InputError where a pipe, a device or a socket is at `path` (links are followed), without opening it."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # Who opens it finds the same, and says what it is about.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise InputError(f"{path} is {kind}: only regular files are read")


def open_regular(path: str | Path) -> BinaryIO:
    """The regular file at `path`, open for reading. Raises as `check_regular` and `open` do."""
    check_regular(path)
    return open(path, "rb")


def read_regular(path: str | Path) -> bytes:
    """All bytes of the regular file at `path`. Raises as `check_regular` and `open` do."""
    with open_regular(path) as file:
        return file.read()
