"""Read a topology from any of the known files, by extension."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....support.errors import InputError
from .npz import read_npz
from .topology import Topology

_READERS: dict[str, Callable[[Path], Topology]] = {".npz": read_npz}


def read_topology(path: str | Path) -> Topology:
    """
    Read the file (or folder with a `graph.npz`) at `path`.

    Raises InputError naming the file: unknown extension, damaged, not a topology.
    """
    path = Path(path)
    if path.is_dir():
        path /= "graph.npz"
    if (reader := _READERS.get(path.suffix.lower())) is None:
        raise InputError(f"{path}: unknown kind of topology; known are {', '.join(sorted(_READERS))}")
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
