"""Warnings of the Python API, for what the command lines print as a note."""

from __future__ import annotations

import sys
import warnings


class MeshloomWarning(UserWarning):
    """Something was assumed that the caller may want otherwise; the message says how to say so."""


def warn(text: str) -> None:
    """Warn at the line of the caller outside of this package."""
    level, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("meshloom."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, MeshloomWarning, stacklevel=level)
