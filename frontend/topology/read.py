"""Reads a topology from a file of any supported format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from ...mapping.topology.topology import Topology
from ...support.arguments import check_argument
from ...support.errors import InputError
from ...support.input_files import check_regular
from ...support.warn import warn

Shapes = Mapping[str, tuple[int, ...]]
Report = Callable[[str], None]
_Reader = Callable[[Path, Shapes, Report, Report], Topology]


def read_topology(
    path: str | Path, shapes: Shapes | None = None, progress: Report | None = None, on_note: Report | None = None
) -> Topology:
    """
    Read the file at `path`, or `graph.npz` if `path` is a folder. The extension determines the format.

    `.npz`: arrays, `.zip`: an archive of this project, `.graph`: METIS, `.mtx`: Matrix Market, `.onnx` and `.nir`: a
    network that is unrolled to neurons. `shapes` are the shapes of an ONNX model's inputs with symbolic dimensions.
    `progress` is called with lines about the progress, `on_note` with the assumptions about an ONNX model (by default,
    it warns). Raises InputError naming the file if the extension is unknown, or the file is missing, damaged or not a
    topology.
    """
    check_argument("path", path, (str, PathLike), "the path of a topology")
    path = Path(path)
    if path.is_dir():
        path /= "graph.npz"
    if (reader := _READERS.get(path.suffix.lower())) is None:
        raise InputError(f"{path}: unknown kind of topology; known are {', '.join(_READERS)}")
    check_regular(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if shapes and path.suffix.lower() != ".onnx":
        raise InputError(f"{path}: only ONNX models have inputs whose shapes can be given")
    return reader(path, shapes or {}, progress or _silent, on_note or warn)


def _silent(line: str) -> None:
    """Ignore a line of progress."""


def _npz(path: Path, _: Shapes, progress: Report, on_note: Report) -> Topology:
    from ...mapping.topology.npz import read_npz

    return read_npz(path)


def _archive(path: Path, _: Shapes, progress: Report, on_note: Report) -> Topology:
    from ...mapping.topology.archive import read_archive

    return read_archive(path)


def _metis(path: Path, _: Shapes, progress: Report, on_note: Report) -> Topology:
    from ...mapping.topology.metis import read_metis

    return read_metis(path)


def _matrix_market(path: Path, _: Shapes, progress: Report, on_note: Report) -> Topology:
    from ...mapping.topology.matrix_market import read_matrix_market

    return read_matrix_market(path)


def _onnx(path: Path, shapes: Shapes, progress: Report, on_note: Report) -> Topology:
    from ...dialects.dataflow.unroll_loops import unroll_loops
    from ..onnx_import import import_onnx
    from .unroll import unroll_module

    module = import_onnx(path, shapes, on_note=on_note)
    unroll_loops(module)
    try:
        return unroll_module(module, progress)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _nir(path: Path, _: Shapes, progress: Report, on_note: Report) -> Topology:
    from .nir_network import read_nir

    return read_nir(path)


_READERS: dict[str, _Reader] = {
    ".npz": _npz,
    ".zip": _archive,
    ".graph": _metis,
    ".mtx": _matrix_market,
    ".onnx": _onnx,
    ".nir": _nir,
}
