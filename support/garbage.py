"""Less frequent runs of Python's cyclic garbage collector while networks are compiled."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

NEW_OBJECTS = 200_000
"""
Net number of new objects after which the garbage collector runs, instead of Python's 700: reference counts alone free
nearly all objects that planning creates.
"""


def collect_rarely() -> None:
    """
    From now on, the cyclic garbage collector runs less often.

    With Python's default threshold it takes a tenth of compilation time, and frees only a few IR modules that were
    replaced. A threshold with fewer runs, or none, is kept.
    """
    before = gc.get_threshold()
    if 0 < before[0] < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS, *before[1:])


@contextmanager
def rare_collections() -> Generator[None]:
    """Context or decorator: `collect_rarely` inside. When it ends, the garbage collector may run."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
