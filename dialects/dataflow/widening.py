"""Widening of a narrow operand of a product: in chunks along the reduced dimension, double-buffered."""

from __future__ import annotations

LEAST_ROWS = 64
"""Least number of elements of a chunk in the first reduced dimension: the rows of a matrix unit."""
LEAST_BYTES = 1 << 14
"""Least number of bytes of a chunk, unless the operand is smaller."""


def slice_bytes(row_bytes: int) -> int:
    """Bytes of a chunk; the widened elements of one position along the reduced dimension take `row_bytes`."""
    return max(LEAST_ROWS * row_bytes, LEAST_BYTES)


def slice_buffer_bytes(depth: int, row_bytes: int) -> int:
    """
    Bytes of the buffer of a chunk, a multiple of 64, for an operand of `depth` positions, which may be a single chunk.
    """
    return min(slice_bytes(row_bytes), -(-depth * row_bytes // 64) * 64)


def widened_bytes(depth: int, row_bytes: int) -> int:
    """
    Bytes of the buffers of chunks for an operand of `depth` positions: one is multiplied while the next one, possibly
    of the next step, is widened. A smaller operand never needs more.
    """
    return 2 * slice_buffer_bytes(depth, row_bytes)


def slice_rows(depth: int, row_bytes: int, multiple: int) -> int:
    """Positions of a chunk along the reduced dimension; all but the last chunk have a multiple of `multiple`."""
    if depth * row_bytes <= slice_bytes(row_bytes):
        return depth
    rows = slice_bytes(row_bytes) // row_bytes
    return rows // multiple * multiple or rows
