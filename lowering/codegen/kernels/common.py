"""The interface of kernels, and helpers for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ....dialects.dataflow.tiling import Box
from ....support.errors import MeshloomError
from ..emitter import Emitter, Operand
from ..view import View


class Tile(NamedTuple):
    """
    A tile of an operation, to be computed by one core. Elementwise operations take numbers as operands (immediates) and
    may work in place.
    """

    box: Box
    """The tile's box in the operation's iteration space."""
    out: View
    """The tile of the result."""
    operands: Sequence[Operand]
    """The operands' slices for the tile, with padding materialised; kernels take shapes from them."""
    accumulate: bool
    """Whether the tile continues a split reduction: its result is then combined with the contents of `out`."""
    emitter: Emitter
    scratch: int | None = None
    """Address of the operation's scratch memory (`scratch_bytes`)."""
    step: int = 0
    """Number of the task's step; buffers that are used in turn are selected by it."""

    @property
    def views(self) -> list[View]:
        """The operands as views. Raises MeshloomError for a number, which only elementwise operations accept."""
        found: list[View] = []
        for operand in self.operands:
            if not isinstance(operand, View):
                raise MeshloomError(
                    f"the constant {operand} must be in memory here: only elementwise operations take immediates"
                )
            found.append(operand)
        return found


Kernel: TypeAlias = Callable[[Any, Tile], None]
"""Emits the instructions for a tile of an operation. Raises MeshloomError for operands that they cannot reach."""
