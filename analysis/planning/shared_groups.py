"""Groups of a depthwise convolution that the matrix and the vector unit compute at the same time."""

from __future__ import annotations

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH, shared_batch
from ...dialects.coreasm.isa import MAX_DIMS
from ...dialects.dataflow.tiling import OpCost

SAME_SUMS = (1, 4)
"""Bytes of an element of the types whose sums of products are the same on both units: 8-bit integers and f32."""


def shared_groups(cost: OpCost, chip: Chip, item_bytes: int) -> tuple[int, int] | None:
    """
    (groups of a tile that the matrix unit computes, cycles of both units) if that is faster than one unit alone; the
    vector unit computes the other groups. None for other operations, and if an instruction has too few dimensions for
    all groups. `item_bytes`: bytes of an element of the first operand.

    Each group of a depthwise convolution uses one column of the array (or a few), so that the array is about as fast as
    the vector unit.
    """
    if cost.groups is None or item_bytes not in SAME_SUMS or cost.widened is not None or cost.nonzero.has_zeros:
        return None
    rows, depth = cost.window
    if 1 + sum(size > 1 for size in (*rows, *depth)) > MAX_DIMS:
        return None
    on_matrix, cycles = shared_batch(chip, RATE_BY_WIDTH.get(item_bytes, 1), cost.groups, item_bytes)
    return (on_matrix, cycles) if 0 < on_matrix < cost.groups[0] else None
