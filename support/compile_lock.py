"""
Of processes that need the same kernel at the same time, one compiles it and the others read what it wrote: compiling a
kernel takes seconds, and tools are often started side by side.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import (  # pyright: ignore[reportMissingTypeStubs]
    global_compiler_lock,  # pyright: ignore[reportUnknownVariableType]
)

_held: set[Path] = set()
"""The lock files that this process holds; only the thread with numba's own lock changes it."""


def compiled_once(compile: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """
    `compile` (numba's, for a signature: it reads the compiled form from disk if it is there, else makes and writes
    it), called while no other process with the same `lock` file is in it. Kernels do not call each other in circles,
    so processes cannot wait for each other forever.
    """

    def locked(signature: Any) -> Any:
        with global_compiler_lock, _holding(lock):  # numba's first: threads would wait for each other
            return compile(signature)

    return locked


@contextmanager
def _holding(lock: Path) -> Generator[None]:
    """Hold the lock of a file, unless this process does (a kernel calls itself), or the folder has no locks."""
    if lock in _held:
        yield
        return
    with ExitStack() as opened:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(opened.enter_context(lock.open("ab")), fcntl.LOCK_EX)
        except OSError:
            yield
            return
        _held.add(lock)
        try:
            yield
        finally:
            _held.remove(lock)
