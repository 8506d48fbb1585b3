"""Writes a topology to a file of any supported format."""

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
    """Raises InputError unless `write_topology` supports the extension of `path` and its folder exists."""
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        raise InputError(f"{path}: cannot write this kind of topology; known are {', '.join(_WRITERS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")


def write_topology(topology: Topology, path: str | Path) -> None:
    """
    Write `.npz` arrays, a `.zip` archive, a METIS `.graph` (undirected) or a Matrix Market `.mtx` (without sizes).

    Raises InputError for other extensions, and if the format cannot represent the network; MeshloomError if writing
    fails.
    """
    check_writable(path)
    path = Path(path)
    _WRITERS[path.suffix.lower()](topology, path)
