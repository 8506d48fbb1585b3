"""Runs with one BLAS thread, so that floating-point results are equal in all runs with the same NumPy build."""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def _library() -> tuple[Any, Any] | None:
    """Functions that get and set the number of threads of the OpenBLAS in NumPy's wheel; None for another BLAS."""
    for path in sorted(Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*")):
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(path))
            return library.scipy_openblas_get_num_threads64_, library.scipy_openblas_set_num_threads64_
    return None


@contextmanager
def one_thread() -> Generator[None]:
    """Context: one BLAS thread, if NumPy includes OpenBLAS (for others, set OPENBLAS_NUM_THREADS or its like)."""
    library = _library()
    if library is None:
        yield
        return
    get, put = library
    before = int(get())
    put(1)
    try:
        yield
    finally:
        put(before)
