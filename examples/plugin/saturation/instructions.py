"""An instruction that saturates, one that finds the least and the greatest element, and the kernels that emit them."""

from __future__ import annotations

from typing import Any

import numpy as np
from meshloom.dialects.coreasm.encoding import TypeCode
from meshloom.lowering.codegen.kernels.common import Tile
from numpy.typing import NDArray

from meshloom.plugins import ChipKey, row_instruction, vector_instruction

from .operations import BoundsOp, ClampOp

CLAMP = vector_instruction("clamp", 0xE0, 3, "D = the least of C and the greatest of A and B")
"""Takes as long as an addition; a maximum and a minimum take twice as long."""


def clamp(a: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """The results that the emulated unit computes."""
    return np.minimum(np.maximum(a, low), high)


HAS_CLAMP = ChipKey("has_clamp", default=False)
"""A key of a chip's description: whether the chip has the instruction `clamp`."""


def select_clamp(op: ClampOp, tile: Tile) -> None:
    """One instruction with the bounds as immediates if the chip has it; else two instructions that each chip has."""
    (source,), (low, high) = tile.operands, op.bounds
    if HAS_CLAMP.of(tile.emitter.chip):
        tile.emitter.ternary("clamp", tile.out, source, low, high)
    else:
        tile.emitter.binary("max", tile.out, source, low)
        tile.emitter.binary("min", tile.out, tile.out, high)


BOUNDS = row_instruction(
    "bounds", 0xE1, "D = the least and the greatest of each row of A", [(TypeCode.F32, TypeCode.F32)]
)
"""Takes one pass over each row; two reductions take two passes."""


def bounds(rows: NDArray[Any]) -> NDArray[Any]:
    """The results that the emulated unit computes."""
    return np.stack([rows.min(axis=-1), rows.max(axis=-1)], axis=-1)


def select_bounds(op: BoundsOp, tile: Tile) -> None:
    """One instruction computes both bounds."""
    tile.emitter.rows("bounds", tile.out, tile.views[0])
