"""An instruction that saturates, one that finds bounds, and the kernels that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from meshloom.dialects.coreasm.encoding import TypeCode
from meshloom.lowering.codegen.kernels.common import Tile
from numpy.typing import NDArray

from meshloom.plugins import ChipKey, row_instruction, vector_instruction

from .operations import BoundsOp, ClampOp

CLAMP = vector_instruction("clamp", 0xE0, 3, "D = the least of C and the greatest of A and B")
"""As fast as an addition, where a maximum and a minimum would take twice as long."""


def clamp(a: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """What the emulated unit computes."""
    return np.minimum(np.maximum(a, low), high)


HAS_CLAMP = ChipKey("has_clamp", default=False)
"""Whether a chip has the instruction, a key of its description."""


def select_clamp(op: ClampOp, tile: Tile) -> None:
    """One instruction, its bounds immediate values, where the chip has it; else two that each chip has."""
    (source,), (low, high) = tile.operands, op.bounds
    if HAS_CLAMP.of(tile.emitter.chip):
        tile.emitter.ternary("clamp", tile.out, source, low, high)
    else:
        tile.emitter.binary("max", tile.out, source, low)
        tile.emitter.binary("min", tile.out, tile.out, high)


BOUNDS = row_instruction(
    "bounds", 0xE1, "D = the least and the greatest of each row of A", [(TypeCode.F32, TypeCode.F32)]
)
"""One pass over each row, where two reductions would take two."""


def bounds(rows: NDArray[Any]) -> NDArray[Any]:
    """What the emulated unit computes."""
    return np.stack([rows.min(axis=-1), rows.max(axis=-1)], axis=-1)


def select_bounds(op: BoundsOp, tile: Tile) -> None:
    """One instruction."""
    tile.emitter.rows("bounds", tile.out, tile.views[0])
