"""
Binary min-heaps of (key, value) pairs for kernels, in two flat arrays that the caller owns.

The caller keeps the size. The functions allocate no memory and count no references, so that kernels compiled without
numba's runtime may call them.
"""

from __future__ import annotations

from typing import Any

from .jit import Array, jit_with

_kernel = jit_with(_nrt=False)


@_kernel
def heap_push(keys: Array, values: Array, size: Any, key: Any, value: Any) -> None:
    """Insert (key, value) into a heap of `size` entries; the arrays have room for one more."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        values[at] = values[up]
        at = up
    keys[at] = key
    values[at] = value


@_kernel
def heap_drop(keys: Array, values: Array, size: Any) -> None:
    """Remove the entry with the least key; `size` entries remain."""
    key = keys[size]
    value = values[size]
    at = 0
    low = 1
    while low < size:
        if low + 1 < size and keys[low + 1] < keys[low]:
            low += 1
        if keys[low] >= key:
            break
        keys[at] = keys[low]
        values[at] = values[low]
        at = low
        low = 2 * at + 1
    keys[at] = key
    values[at] = value
