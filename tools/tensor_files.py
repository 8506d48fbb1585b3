"""Inputs from a seed, outputs to `.npy` files."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dialects.coreasm.encoding import TYPES
from ..emulator.executable.executable import TensorInfo
from ..emulator.machine.memory import round_bf16
from ..support.errors import InputError
from ..support.files import write_atomically

Array = NDArray[Any]


def random_inputs(tensors: Sequence[TensorInfo], seed: int) -> dict[str, Array]:
    """
    Seeded values for `tensors`: standard normal for floats, 0 or 1 for integers and booleans.

    0 and 1 are valid indices, token numbers, masks and lengths.
    """
    generator = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for tensor in tensors:
        kind = TYPES[tensor.dtype]
        if kind.name == "bf16":
            arrays[tensor.name] = round_bf16(generator.standard_normal(tensor.shape, np.float32))
        elif kind.is_float:
            arrays[tensor.name] = np.asarray(generator.standard_normal(tensor.shape), kind.storage)
        else:
            storage = np.bool_ if kind.name == "bool" else kind.storage
            arrays[tensor.name] = np.asarray(generator.integers(0, 2, tensor.shape), storage)
    return arrays


def write_outputs(folder: Path, outputs: Mapping[str, Array]) -> list[Path]:
    """Write each output to `folder/NAME.npy`, never an incomplete file. Returns the paths in order."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make folder {folder}: {error.strerror}") from error
    paths: list[Path] = []
    for stem, array in zip(file_stems(list(outputs)), outputs.values(), strict=True):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        paths.append(folder / f"{stem}.npy")
        write_atomically(paths[-1], buffer.getvalue())
    return paths


def file_stems(names: Sequence[str]) -> list[str]:
    """File names for tensors: characters other than letters, digits and `._-` become `_`; equal ones get a number."""
    stems: list[str] = []
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", name)
        stem = stem if stem.strip(".") else "_" * max(len(stem), 1)
        count = 2
        unique = stem
        while unique in stems:
            unique, count = f"{stem}-{count}", count + 1
        stems.append(unique)
    return stems
