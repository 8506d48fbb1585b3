"""
Checkpoints of a mapping's steps in a folder, so that an interrupted run can be resumed.

The graph of a step is stored as an archive (spec 4, S1, for intermediate topologies), its other results as NumPy
arrays.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping as Dict
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InputError
from ..support.files import open_atomically, write_atomically
from ..support.input_files import open_regular, read_regular
from ..support.npy import NPY_DAMAGE
from .topology.archive import read_rows, write_rows
from .topology.topology import Topology

RUN_FILE = "run.json"
"""File that identifies the run to which the folder's steps belong."""

_GRAPH = ("indptr", "indices", "data", "size")
"""Names of the arrays of a graph; a step that has all of them has a graph."""


class FolderCheckpoints:
    """Keeps every step in `FOLDER/STEP.npz`, a graph of it in `FOLDER/STEP.zip`; see `mapping.Checkpoints`."""

    def __init__(self, folder: Path, run: Dict[str, Any], *, resume: bool) -> None:
        """
        Open or create the folder for a run that `run` (plain data) describes.

        Raises InputError if the folder holds steps of another run, or, without `resume`, of any run.
        """
        self.folder = folder
        description = json.dumps(dict(run), indent=1, sort_keys=True) + "\n"
        path = folder / RUN_FILE
        if path.exists():
            if not resume:
                raise InputError(
                    f"{folder} contains checkpoints of an earlier run: continue it with --resume, or remove the folder"
                )
            if read_regular(path).decode("utf-8", "replace") != description:
                raise InputError(
                    f"{folder} contains checkpoints of another input or other options (see {path}): give the "
                    f"same ones, or another folder"
                )
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make {folder}: {error.strerror}") from error
        write_atomically(path, description)

    def save(self, step: str, arrays: Dict[str, NDArray[Any]]) -> None:
        """Write a step's arrays. Raises MeshloomError if that fails."""
        if set(_GRAPH) <= arrays.keys():
            write_rows(self._graph_path(step), *(arrays[name] for name in _GRAPH))
            arrays = {name: array for name, array in arrays.items() if name not in _GRAPH}
        # Written last: its presence shows that the step is complete.
        with open_atomically(self._path(step)) as file:
            cast("Any", np.savez)(file, **arrays)

    def restore(self, step: str) -> dict[str, NDArray[Any]] | None:
        """Read a step's arrays; None if there are none. Raises InputError if the file is damaged."""
        path = self._path(step)
        if not path.exists():
            return None
        try:
            with open_regular(path) as file, np.load(file, allow_pickle=False) as arrays:
                kept: dict[str, NDArray[Any]] = {name: arrays[name] for name in arrays.files}
        except (OSError, zipfile.BadZipFile, *NPY_DAMAGE) as error:
            raise InputError(f"{path} is damaged ({error}): remove it to repeat the step") from error
        if self._graph_path(step).exists():
            kept |= zip(_GRAPH, read_rows(self._graph_path(step)), strict=True)
        return kept

    def _graph_path(self, step: str) -> Path:
        return self.folder / f"{step}.zip"

    def _path(self, step: str) -> Path:
        return self.folder / f"{step}.npz"


def fingerprint(topology: Topology) -> str:
    """Hash of all arrays of a topology, as hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (
        topology.indptr,
        topology.indices,
        topology.data,
        topology.size,
        topology.src_indptr,
        topology.src_indices,
        topology.spikes,
    ):
        if array is not None:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        else:
            digest.update(b"none")
    return digest.hexdigest()
