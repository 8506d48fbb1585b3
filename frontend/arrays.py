"""Creation of NumPy arrays whose sizes depend on a model's data: sizes are checked before memory is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .tensors import INT64, Array, Dtype, check_size


def arange(start: int, stop: int | None = None, dtype: Dtype = INT64) -> Array:
    """As NumPy's function. Raises NodeError if the result exceeds the largest supported size of a tensor."""
    first, last = (0, start) if stop is None else (start, stop)
    check_size((max(0, last - first),), dtype)
    return np.arange(first, last, dtype=dtype)


def full(shape: int | Sequence[int], value: Any, dtype: Any = np.float64) -> Array:
    """As NumPy's function. Raises NodeError if the result exceeds the largest supported size of a tensor."""
    check_size((shape,) if isinstance(shape, int) else shape, np.dtype(dtype))
    return np.full(shape, value, dtype)


def eye(rows: int, columns: int, diagonal: int, dtype: Dtype) -> Array:
    """
    An array [rows, columns] with ones on a diagonal, else zeros. Raises NodeError if it exceeds the largest supported
    size of a tensor.
    """
    check_size((rows, columns), dtype)
    return np.eye(rows, columns, diagonal, dtype)


def outer_sum(x: Array, y: Array) -> Array:
    """The outer sum, [len(x), len(y)]. Raises NodeError if it exceeds the largest supported size of a tensor."""
    check_size((len(x), len(y)), np.result_type(x, y))
    return x[:, None] + y


def outer_product(x: Array, y: Array) -> Array:
    """The outer product, [len(x), len(y)]. Raises NodeError if it exceeds the largest supported size of a tensor."""
    check_size((len(x), len(y)), np.result_type(x, y))
    return np.outer(x, y)
