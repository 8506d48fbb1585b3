"""One BLAS thread: float results are then the same on every run of one numpy build."""

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
    """Functions that read and set the thread count of the OpenBLAS inside numpy's wheel; None for another BLAS."""
    for path in sorted(Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*")):
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(path))
            return library.scipy_openblas_get_num_threads64_, library.scipy_openblas_set_num_threads64_
    return None


@contextmanager
def one_thread() -> Generator[None]:
    """Run the body with one BLAS thread (where numpy brings OpenBLAS; else set OPENBLAS_NUM_THREADS or its like)."""
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
