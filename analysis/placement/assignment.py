"""
The assignment of least cost: each row of a table of costs is assigned a different column, such that the sum is minimal.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


@jit
def assign(costs: Array) -> Array:
    """
    [rows] the column that is assigned to each row of `costs` ([rows, columns] float64, no more rows than columns).

    Uses shortest augmenting paths (Hungarian method), in at most rows x rows x columns steps. Exact for whole numbers;
    among assignments of equal cost the choice is deterministic.
    """
    rows, columns = costs.shape
    # Column `columns` means that a row has no column yet.
    row_price = np.zeros(rows)
    column_price = np.zeros(columns + 1)
    row_of = np.full(columns + 1, -1, np.int64)
    came_from = np.zeros(columns + 1, np.int64)
    least = np.empty(columns)
    done = np.empty(columns + 1, np.bool_)
    # Most rows get their column of least cost; the remaining rows are then assigned by augmenting paths.
    left = np.ones(rows, np.bool_)
    for row in range(rows):
        column = np.argmin(costs[row])
        row_price[row] = costs[row, column]
        if row_of[column] < 0:
            row_of[column] = row
            left[row] = False
    for new in range(rows):
        if not left[new]:
            continue
        row_of[columns] = new
        at = columns
        least[:] = np.inf
        done[:] = False
        while row_of[at] >= 0:
            done[at] = True
            row = row_of[at]
            step, nearest = np.inf, -1
            for column in range(columns):
                if not done[column]:
                    reduced = costs[row, column] - row_price[row] - column_price[column]
                    if reduced < least[column]:
                        least[column] = reduced
                        came_from[column] = at
                    if least[column] < step:
                        step, nearest = least[column], column
            for column in range(columns + 1):
                if done[column]:
                    row_price[row_of[column]] += step
                    column_price[column] -= step
                elif column < columns:
                    least[column] -= step
            at = nearest
        while at != columns:
            row_of[at] = row_of[came_from[at]]
            at = came_from[at]
    found = np.zeros(rows, np.int64)
    for column in range(columns):
        if row_of[column] >= 0:
            found[row_of[column]] = column
    return found
