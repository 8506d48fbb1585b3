"""An instruction that saturates, and the kernel that uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
from meshloom.lowering.codegen.kernels.common import Tile
from numpy.typing import NDArray

from meshloom.plugins import vector_instruction

from .operations import ClampOp

CLAMP = vector_instruction("clamp", 0xE0, 3, "D = the least of C and the greatest of A and B")
"""As fast as an addition, where a maximum and a minimum would take twice as long."""


def clamp(a: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """What the emulated unit computes."""
    return np.minimum(np.maximum(a, low), high)


def select_clamp(op: ClampOp, tile: Tile) -> None:
    """One instruction, its bounds immediate values."""
    (source,), (low, high) = tile.operands, op.bounds
    tile.emitter.ternary("clamp", tile.out, source, low, high)
