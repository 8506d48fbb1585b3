"""What instruction selection shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...dialects.dataflow.tiling import Box
from ...support.errors import MeshloomError
from ..emitter import Emitter, Operand
from ..view import View

Kernel: TypeAlias = Callable[[Any, Box, View, Sequence[Operand], bool, Emitter], None]
"""(operation, tile, out, operands, accumulate, emitter): computes the tile of the operation into `out`.

`tile` is the box in the operation's iteration space, `operands` are its slices for the tile with their padding
materialised, `out` is the tile of the result; shapes come from the operands, attributes from the operation. With
`accumulate` the tile is a further part of a split reduction and is joined to what `out` holds. Elementwise operations
take numbers as operands (immediates) and may work in place. Kernels need no memory besides, and raise MeshloomError for
operands that instructions cannot reach.
"""


def in_memory(operand: Operand) -> View:
    """The operand as a view. Raises MeshloomError for a constant, which only elementwise operations take."""
    if isinstance(operand, View):
        return operand
    raise MeshloomError(f"the constant {operand} must lie in memory here: only elementwise operations take immediates")
