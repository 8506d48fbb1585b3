"""Encoded tensors as files: `.npz` with `index`, bytes as the sparse dialect describes them, and `values`."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..formats.sparse.encode import Encoded
from ..formats.sparse.encoded_interface import EncodedTensor
from ..support.errors import InputError
from ..support.files import write_atomically
from ..support.input_files import check_regular
from ..support.npy import NPY_DAMAGE, Array, read_arrays
from .tensor_files import file_stems

_MEMBERS = {"index", "values"}


def read_inputs(options: Sequence[str], encoded: Mapping[str, EncodedTensor]) -> dict[str, Any]:
    """
    Values of `--input NAME=FILE`: arrays, or encoded tensors from `.npz` files. Raises InputError for files that are
    neither.
    """
    arrays: dict[str, Any] = dict(read_arrays([one for one in options if not _is_encoded(one, encoded)]))
    for option in options:
        if not _is_encoded(option, encoded):
            continue
        name, _, path = option.partition("=")
        if name in arrays:
            raise InputError(f"--input {name} is given twice")
        arrays[name] = _read(Path(path), encoded[name])
    return arrays


def _is_encoded(option: str, encoded: Mapping[str, EncodedTensor]) -> bool:
    name, _, path = option.partition("=")
    return name in encoded and path.lower().endswith(".npz")


def _read(path: Path, tensor: EncodedTensor) -> Encoded:
    try:
        check_regular(path)
        with np.load(path, allow_pickle=False) as found:
            members: dict[str, Array] = {name: found[name] for name in found.files if name in _MEMBERS}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (*NPY_DAMAGE, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise InputError(f"{path} is not a valid .npz file: {error}") from error
    if set(members) != _MEMBERS:
        raise InputError(f"{path}: expected arrays 'index' and 'values'")
    index, values = members["index"], members["values"]
    if index.dtype != np.uint8 or index.ndim != 1:
        raise InputError(f"{path}: 'index' is {index.dtype}{list(index.shape)}, expected a row of uint8")
    return Encoded(tensor.format, tensor.fibers, index, values)


def write_encoded(folder: Path, outputs: Mapping[str, Array], encoded: Mapping[str, Encoded]) -> list[Path]:
    """Write each encoded output to `folder/NAME.npz`, beside its dense values; the paths, in order."""
    paths: list[Path] = []
    for stem, name in zip(file_stems(list(outputs)), outputs, strict=True):
        if name not in encoded:
            continue
        buffer = io.BytesIO()
        np.savez(buffer, index=encoded[name].index, values=encoded[name].values)
        paths.append(folder / f"{stem}.npz")
        write_atomically(paths[-1], buffer.getvalue())
    return paths
