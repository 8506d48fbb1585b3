"""Warnings of the Python API, for what the command lines print as a note."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class MeshloomWarning(UserWarning):
    """Something was assumed that the caller may want otherwise; the message says how to say so."""


def warn(text: str) -> None:
    """Warn at the line of the caller outside of this package."""
    level, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, MeshloomWarning, stacklevel=level)


def _is_inside(module: str) -> bool:
    """Whether a module is of this package, or of the decorators that context managers are used as in it."""
    return module.startswith("meshloom.") or module == "contextlib"


@contextmanager
def held_back() -> Generator[list[str]]:
    """The texts of warnings raised inside, which are not shown unless the caller issues them later."""
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
