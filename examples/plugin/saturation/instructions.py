"""Which instructions compute a tile."""

from __future__ import annotations

from meshloom.lowering.codegen.kernels.common import Tile

from .operations import ClampOp


def select_clamp(op: ClampOp, tile: Tile) -> None:
    """Two instructions of the vector unit, the second in place."""
    (source,), (low, high) = tile.operands, op.bounds
    tile.emitter.binary("max", tile.out, source, low)
    tile.emitter.binary("min", tile.out, tile.out, high)
