"""Numbering of the distinct rows of an array, in linear time."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


@jit
def number_rows(rows: Array) -> tuple[Array, int]:
    """
    ([rows] a number for each, the same for equal rows, in the order of first occurrence; the number of distinct rows)
    """
    count, width = rows.shape
    size = 64
    while size < 2 * count:
        size *= 2
    table, numbers = np.full(size, -1, np.int64), np.empty(count, np.int64)
    found = 0
    for row in range(count):
        code = 0
        for entry in range(width):
            code = (code ^ rows[row, entry]) * 0x9E3779B1
            code ^= code >> 29
        at = (code ^ code >> 32) & (size - 1)
        while table[at] >= 0:
            same = True
            for entry in range(width):
                same &= rows[table[at], entry] == rows[row, entry]
            if same:
                break
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = row
            numbers[row] = found
            found += 1
        else:
            numbers[row] = numbers[table[at]]
    return numbers, found
