"""Who is told of the stages of a compilation."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""

Observer = Callable[[str, ModuleOp], None]
"""Told the name of a level, and the module there, where compilation itself works on other data."""
