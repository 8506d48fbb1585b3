"""Bounds of the slices that cores read, in one pass over their extents."""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit


@jit
def slice_bounds(extents: Array) -> tuple[Array, Array, bool, int]:
    """
    The bounds of slices [cores, axes, 5] (see `Extent`): ([cores, axes] the first position of the value within a
    slice's bounds; one past the last; whether a slice has positions of padding; elements of the largest buffer for
    positions within the bounds, and for padding)
    """
    cores, axes = extents.shape[:2]
    low, high = np.empty((cores, axes), np.int64), np.empty((cores, axes), np.int64)
    padded, largest = False, 0
    for core in range(cores):
        volume = 1
        for axis in range(axes):
            first, size, step = extents[core, axis, 0], extents[core, axis, 1], extents[core, axis, 4]
            before, after = extents[core, axis, 2], extents[core, axis, 3]
            last = first + max(size - 1, 0) * step
            low[core, axis], high[core, axis] = min(first, last), max(first, last) + (1 if size > 0 else 0)
            volume *= high[core, axis] - low[core, axis] + before + after
            padded |= before != 0 or after != 0
        largest = max(largest, volume)
    return low, high, padded, largest
