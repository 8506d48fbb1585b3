"""Spec 4, S6: choice of a compact rectangle of usable cores."""

from __future__ import annotations

import numpy as np

from ...support.errors import MeshloomError
from ...support.jit import Array, jit
from ..mesh import Mesh


def choose_rectangle(mesh: Mesh, count: int) -> Array:
    """
    Numbers of `count` usable cores ([count] int32) in the rectangle of least extent (in hops) that has that many.

    If it has more, those at the end of its longer side are left out.

    Raises MeshloomError if the mesh has fewer usable cores.
    """
    usable = mesh.usable_cores
    if count > usable.size:
        raise MeshloomError(f"{count} cores are needed, the mesh of {mesh} has {usable.size} usable ones")
    if count == usable.size:
        return usable
    filled = np.zeros((mesh.height + 1, mesh.width + 1), np.int64)
    filled[1:, 1:] = mesh.usable.reshape(mesh.height, mesh.width).cumsum(0).cumsum(1)
    left, top, right, bottom = _least_rectangle(filled, mesh.column_positions, mesh.row_positions, count)
    x, y = usable % mesh.width, usable // mesh.width
    inside = usable[(x >= left) & (x < right) & (y >= top) & (y < bottom)]
    if right - left > bottom - top:
        inside = inside[np.argsort(inside % mesh.width, kind="stable")]
    return np.sort(inside[:count])


@jit
def _least_rectangle(filled: Array, x: Array, y: Array, count: int) -> tuple[int, int, int, int]:
    """
    (left, top, right, bottom), ends exclusive; `filled` [y, x]: number of usable cores above row y and left of column
    x.
    """
    best = (0, 0, x.size, y.size)
    best_extent = x[-1] + y[-1] + 1
    best_long = x.size + y.size
    for top in range(y.size):
        for bottom in range(top + 1, y.size + 1):
            right = 1
            for left in range(x.size):
                while right <= x.size and (
                    right <= left
                    or filled[bottom, right] - filled[top, right] - filled[bottom, left] + filled[top, left] < count
                ):
                    right += 1
                if right > x.size:
                    break
                extent = x[right - 1] - x[left] + y[bottom - 1] - y[top]
                longest = max(right - left, bottom - top)
                if extent < best_extent or (extent == best_extent and longest < best_long):
                    best_extent = extent
                    best_long = longest
                    best = (left, top, right, bottom)
    return best
