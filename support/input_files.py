"""
Files that the tools read: regular files, and nothing that a read could wait on or never come to the end of.

A model names other files (external data, weights), and a name can be that of a pipe or a device: opening a pipe waits
for a writer, `/dev/zero` has no end. So every file that a user or a file names is opened here.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def open_regular(path: str | Path) -> BinaryIO:
    """
    The regular file at `path` (links are followed), open for reading.

    Raises InputError where it is a pipe, a device or a socket; OSError, naming the file, where it cannot be opened.
    """
    # Without O_NONBLOCK the opening of a pipe waits for somebody to write to it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            return open(path, "rb")  # raises what Python says of folders
        if not stat.S_ISREG(mode):
            raise InputError(f"{path} is {_kind(mode)}: only regular files are read")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: str | Path) -> bytes:
    """All bytes of the regular file at `path`. Raises as `open_regular` does."""
    with open_regular(path) as file:
        return file.read()


def check_regular(path: str | Path) -> None:
    """Raises as `open_regular` does, for files that a library opens by itself."""
    open_regular(path).close()


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
