"""One way to compile a kernel: cached on disk, and with its types kept for the type checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

Array = NDArray[Any]
"""What kernels take: the types of the entries are the caller's choice, a kernel is compiled for each."""

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile `function` on its first call, for the types of its arguments; kept on disk for later runs."""
    return cast(F, njit(cache=True, nogil=True)(function))
