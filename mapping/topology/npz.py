"""
Reads and writes topologies as NumPy archives of CSR arrays: indptr, indices, data, size (optional), and for directed
edges src_indptr, src_indices, spikes (optional).
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...support.errors import InputError
from ...support.files import open_atomically
from ...support.npy import NPY_DAMAGE
from .archive_members import Members
from .topology import Topology, make_topology

NAMES = ("indptr", "indices", "data", "size", "src_indptr", "src_indices", "spikes")
_REQUIRED = NAMES[:2]


def read_npz(path: str | Path) -> Topology:
    """
    Read a topology from a NumPy archive; `indptr` and `indices` are required.

    Raises InputError naming the file and the array if the file is not an archive, is damaged, or does not contain
    numbers or a topology.
    """
    members = Members(path)
    try:
        arrays = {name: _read_member(members, f"{name}.npy") for name in NAMES if f"{name}.npy" in members.by_name}
    finally:
        members.close()
    if missing := [name for name in _REQUIRED if name not in arrays]:
        raise InputError(f"{path}: no array {' and '.join(missing)}; a topology has {', '.join(NAMES)}")
    try:
        return make_topology(**arrays)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_npz(topology: Topology, path: str | Path) -> None:
    """
    Write the arrays of `topology`, uncompressed; the same topology gives the same bytes. Raises MeshloomError if
    writing fails.
    """
    with open_atomically(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name in NAMES:
            array: NDArray[Any] | None = getattr(topology, name)
            if array is not None:
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    npy.write_array(member, array, allow_pickle=False)


def _read_member(members: Members, name: str) -> NDArray[Any]:
    """One array; its header is checked against the member's length before memory is allocated for it."""
    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] = np.dtype(np.int64)

    def start(member: IO[bytes], length: int) -> tuple[bytearray, int]:
        nonlocal shape, dtype
        shape, dtype, head = _header(member)
        count = 1
        for extent in shape:
            count *= extent
        if dtype.hasobject or head + count * dtype.itemsize != length:
            raise InputError(f"its header does not agree with its {length} bytes")
        return bytearray(length - head), head

    data = members.read_into(name, start)
    # The order of elements matters only for several dimensions, which the arrays of a topology do not have.
    return np.frombuffer(data, dtype).reshape(shape)


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, element type and length of the header of a .npy file."""
    try:
        version = npy.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise InputError(f"version {version} of the .npy format")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(member)
    except NPY_DAMAGE as error:
        raise InputError(f"its header is not that of a .npy file: {error}") from error
    return shape, dtype, member.tell()
