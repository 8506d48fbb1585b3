"""
File locks that let one process compile a kernel while other processes that need it wait, and then load the result:
compiling a kernel takes seconds, and tools are often run concurrently.
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
"""The lock files that this process holds; changed only by the thread that holds numba's global compiler lock."""


def compiled_once(compile: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """
    Wraps `compile` so that only one process at a time executes it for the same `lock` file. `compile` is numba's, for
    a signature: it loads the machine code from disk if it is there, else generates and writes it. Calls between
    kernels form no cycle, except that a kernel may call itself; therefore processes cannot deadlock.
    """

    def locked(signature: Any) -> Any:
        with global_compiler_lock, _holding(lock):  # numba's lock first: the other order can deadlock threads
            return compile(signature)

    return locked


@contextmanager
def _holding(lock: Path) -> Generator[None]:
    """Hold a file lock, unless this process already holds it (recursive kernels) or the file system has no locks."""
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
