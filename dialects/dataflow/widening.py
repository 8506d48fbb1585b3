"""How a narrow operand of a product is widened: piece by piece along what is summed over, in memory for two pieces."""

from __future__ import annotations

LEAST_ROWS = 64
"""Pieces have so many elements of the first summed dimension at least: no fewer than a matrix unit has rows."""
LEAST_BYTES = 1 << 14
"""And so many bytes, if there are as many."""


def slice_bytes(row_bytes: int) -> int:
    """Room for a piece, of whose widened elements those of one position along the summed dimension take `row_bytes`."""
    return max(LEAST_ROWS * row_bytes, LEAST_BYTES)


def slice_buffer_bytes(depth: int, row_bytes: int) -> int:
    """The same of an operand of `depth` positions, which may be one piece: a multiple of 64 bytes."""
    return min(slice_bytes(row_bytes), -(-depth * row_bytes // 64) * 64)


def widened_bytes(depth: int, row_bytes: int) -> int:
    """
    Bytes of memory for pieces of an operand of `depth` positions: one is multiplied while the next one is widened,
    which may be the first one of the next step. A smaller operand never needs more.
    """
    return 2 * slice_buffer_bytes(depth, row_bytes)


def slice_rows(depth: int, row_bytes: int, multiple: int) -> int:
    """Positions along the summed dimension in a piece, of the last one at most: this `multiple` if there are more."""
    if depth * row_bytes <= slice_bytes(row_bytes):
        return depth
    rows = slice_bytes(row_bytes) // row_bytes
    return rows // multiple * multiple or rows
