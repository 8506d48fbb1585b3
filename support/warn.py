"""Warnings of the Python API; the command lines print them as notes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class MeshloomWarning(UserWarning):
    """An assumption that the caller may want to override; the message says how."""


def warn(text: str) -> None:
    """Issue a MeshloomWarning whose location is the innermost caller outside of this package."""
    level, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, MeshloomWarning, stacklevel=level)


def _is_inside(module: str) -> bool:
    """Whether a module belongs to this package, or is `contextlib`, for context managers used as decorators."""
    return module.startswith("meshloom.") or module == "contextlib"


@contextmanager
def held_back() -> Generator[list[str]]:
    """Context: a list that collects the texts of MeshloomWarnings issued inside, instead of showing them."""
    texts: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, MeshloomWarning):
                texts.append(str(message))
            else:
                show(message, category, *where, **more)

        warnings.showwarning = keep
        warnings.simplefilter("always", MeshloomWarning)
        yield texts
