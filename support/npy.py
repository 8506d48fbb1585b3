"""Reading of `.npy` files given in options, and the exceptions that NumPy raises for damaged files."""

from __future__ import annotations

from collections.abc import Sequence
from tokenize import TokenError
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .input_files import check_regular

Array: TypeAlias = NDArray[Any]

NPY_DAMAGE = (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError, MemoryError)
"""Exceptions for a damaged `.npy` file: its header is a Python literal, read by Python's own parsers."""


def read_arrays(options: Sequence[str], flag: str = "--input") -> dict[str, Array]:
    """Arrays of `NAME=FILE.npy` values of an option. Raises InputError on anything that is not such a file."""
    arrays: dict[str, Array] = {}
    for option in options:
        name, separator, path = option.partition("=")
        if not separator or not name or not path:
            raise InputError(f"{flag} {option!r}: expected NAME=FILE.npy")
        if name in arrays:
            raise InputError(f"{flag} {name} is given twice")
        try:
            check_regular(path)
            # Memory-mapped first: this compares the file's length with its header before memory is allocated.
            loaded: object = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        except NPY_DAMAGE as error:
            raise InputError(f"{path} is not a valid .npy file: {error}") from error
        if not isinstance(loaded, np.ndarray):
            raise InputError(f"{path} holds several arrays, expected one (.npy)")
        arrays[name] = np.array(cast("Array", loaded))
    return arrays
