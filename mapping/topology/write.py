"""Write a topology to any of the known kinds of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...support.errors import InputError
from .archive import write_archive
from .matrix_market import write_matrix_market
from .metis import write_metis
from .npz import write_npz
from .topology import Topology

_WRITERS: dict[str, Callable[[Topology, Path], None]] = {
    ".npz": write_npz,
    ".zip": write_archive,
    ".graph": write_metis,
    ".mtx": write_matrix_market,
}


def check_writable(path: str | Path) -> None:
    """Raises InputError unless `write_topology` knows the extension of `path` and its folder is there."""
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path}: cannot write this kind of topology; known are {', '.join(_WRITERS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")


def write_topology(topology: Topology, path: str | Path) -> None:
    """
    Write `.npz` arrays, a `.zip` archive, a METIS `.graph` (undirected) or a Matrix Market `.mtx` (no sizes).

    Raises InputError for other extensions, and where the format cannot hold the network; MeshloomError on failure.
    """
    check_writable(path)
    path = Path(path)
    _WRITERS[path.suffix.lower()](topology, path)
