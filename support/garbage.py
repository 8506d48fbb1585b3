"""How often Python looks for garbage in cycles while networks are compiled."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

NEW_OBJECTS = 200_000
"""So many more objects than before cause a look, instead of 700: what planning makes is nearly all freed by counts."""


def collect_rarely() -> None:
    """
    From now on, Python looks for garbage in cycles less often.

    With its own setting these looks take a tenth of compilation, all for a few modules that have been replaced. A
    setting with fewer looks, or none, stays.
    """
    before = gc.get_threshold()
    if 0 < before[0] < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS, *before[1:])


@contextmanager
def rare_collections() -> Generator[None]:
    """`collect_rarely` inside of the block, or of the function that it decorates. Its end may cause a look."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
