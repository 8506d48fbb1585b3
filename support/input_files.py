"""
Reading of regular files only: no pipes, devices or sockets, whose reads may block or never end.

Paths come from users, models (external data), textual IR (weights) and listings. A path may name a pipe or a device:
opening a pipe blocks until there is a writer, and `/dev/zero` has no end. So each path is checked here first.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def check_regular(path: str | Path) -> None:
    """Raises InputError if `path` is a pipe, a device or a socket (links are followed), without opening it."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # Opening the file fails as well; the caller reports that with its context.
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
