"""Progress of a compilation: its stages, reported to callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

Progress = Callable[[str], None]
"""Called with the name of each stage as it begins."""

Level: TypeAlias = tuple[str, ModuleOp]
"""Called with the name of a level, and its module."""
