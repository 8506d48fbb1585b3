"""
Programs of instructions for the cores and the controller (see docs/rationale/coreasm.md).

The instruction table can be read without xDSL; xDSL is imported when the dialect itself is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dialect import Coreasm

__all__ = ["Coreasm"]


def __getattr__(name: str) -> Any:
    if name == "Coreasm":
        from .dialect import Coreasm

        return Coreasm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
