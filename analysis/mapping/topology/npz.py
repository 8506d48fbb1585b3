"""
NumPy archives of CSR arrays: indptr, indices, data, size (optional), and for the directed edges src_indptr,
src_indices, spikes (optional).
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ....support.errors import InputError
from ....support.files import open_atomically
from .topology import Topology, make_topology

NAMES = ("indptr", "indices", "data", "size", "src_indptr", "src_indices", "spikes")
_REQUIRED = NAMES[:2]
_PIECE = 1 << 22
_MOST_DEFLATED = 1040
"""Deflate cannot expand a byte to more than 1,032; a member that claims more is damaged."""


def read_npz(path: str | Path) -> Topology:
    """
    Read a topology from a NumPy archive; `indptr` and `indices` are required.

    Raises InputError naming the file and the array: not an archive, damaged, not numbers, or not a topology.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {name: _read_member(archive, f"{name}.npy") for name in NAMES if _has(archive, name)}
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, EOFError, ValueError) as error:
        raise InputError(f"{path}: not a readable NumPy archive: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if missing := [name for name in _REQUIRED if name not in arrays]:
        raise InputError(f"{path}: no array {' and '.join(missing)}; a topology has {', '.join(NAMES)}")
    try:
        return make_topology(**arrays)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_npz(topology: Topology, path: str | Path) -> None:
    """Write the arrays of `topology`, uncompressed, the same bytes every time. Raises MeshloomError."""
    with open_atomically(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name in NAMES:
            array: NDArray[Any] | None = getattr(topology, name)
            if array is not None:
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)


def _has(archive: zipfile.ZipFile, name: str) -> bool:
    return f"{name}.npy" in archive.NameToInfo


def _read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array; its header must agree with the member's length before any memory is taken for it."""
    info = archive.NameToInfo[name]
    if info.file_size > _MOST_DEFLATED * (info.compress_size + 1):
        raise InputError(f"{name}: {info.file_size} bytes out of {info.compress_size} compressed ones cannot be")
    try:
        with archive.open(info) as member:
            shape, dtype, length = _header(member)
            count = 1
            for extent in shape:
                count *= extent
            if dtype.hasobject or length + count * dtype.itemsize != info.file_size:
                raise InputError(f"{name}: its header does not agree with its {info.file_size} bytes")
            data = bytearray(info.file_size - length)
            at = 0
            while at < len(data) and (piece := member.read(min(_PIECE, len(data) - at))):
                data[at : at + len(piece)] = piece
                at += len(piece)
            if at != len(data) or member.read(1):
                raise InputError(f"{name}: its length is not what the archive says")
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{name}: {error or 'ends too early'}") from error
    # The order of elements matters only beyond one dimension, which no topology has.
    return np.frombuffer(data, dtype).reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, element type and length of the header of a .npy file."""
    version = npy.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise InputError(f"version {version} of the .npy format")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(member)
    return shape, dtype, member.tell()
