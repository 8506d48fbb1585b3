"""
The values that elements of a tensor can have, if it is computed from 8-bit integers.

There are few of them, so that the operations before a quantisation can be replaced by cheaper ones that were found at
import to have the same results for all of these values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .tensors import Array, Dtype, Tensor, known

MOST = 1 << 16
"""Number of values, or of pairs of values, that are computed at most."""
_CONSTANTS = 256
"""Number of elements up to which the values of a constant are used."""
_NEIGHBOURS = 8
"""Number of factors tried on either side of the reciprocal of a scale."""
_LOW, _HIGH = -128, 127
_CODES = np.arange(_LOW, _HIGH + 1)


@dataclass(frozen=True, eq=False)
class FiniteValues:
    """A set that contains all elements of a tensor."""

    values: Array
    """[n]; with a source, [256]: the element for each value of the source, from -128 on."""
    source: Tensor | None = None
    """int8, of the tensor's shape: each element is a function of that at its position."""


def values_of(x: Tensor) -> FiniteValues | None:
    """The values of a tensor: of a small constant, of 8-bit integers, or as noted; else None."""
    if x.array is not None:
        return FiniteValues(np.unique(x.array)) if 0 < x.size <= _CONSTANTS else None
    if x.finite is None and x.dtype == np.int8:
        return FiniteValues(_CODES.astype(np.int8), x)
    if x.finite is None and x.dtype == np.uint8:
        return FiniteValues((_CODES - _LOW).astype(np.uint8), x.signed)
    return x.finite


def after_elementwise(
    operands: Sequence[Tensor], shape: tuple[int, ...], dtype: Dtype, function: Callable[..., Any]
) -> FiniteValues | None:
    """
    The values of an elementwise result of this shape and type: for each combination of the operands' values. None if
    those of an operand are not known, for constants only, and if they are more than `MOST`.
    """
    found = [one for one in map(values_of, operands) if one is not None]
    if len(found) < len(operands) or dtype.kind not in "fiub" or all(one.array is not None for one in operands):
        return None
    source = _common_source(operands, found, shape)
    if source is not None:
        arguments = [one.values for one in found]
    elif math.prod(len(one.values) for one in found) <= MOST:
        arguments = np.ix_(*(one.values for one in found))
    else:
        return None
    with np.errstate(all="ignore"):
        results = np.asarray(function(*arguments)).astype(dtype, copy=False).reshape(-1)
    return FiniteValues(results if source is not None else np.unique(results), source)


def _common_source(operands: Sequence[Tensor], found: Sequence[FiniteValues], shape: tuple[int, ...]) -> Tensor | None:
    """The source of all operands but constants of one value, if it is the same and no operand is broadcast."""
    sources = [
        one.source if x.shape == shape else None
        for x, one in zip(operands, found, strict=True)
        if x.array is None or x.size > 1
    ]
    same = sources[0] is not None and all(one is sources[0] for one in sources)
    return sources[0] if same else None


def quantised_values(x: FiniteValues, scale: np.float32, zero: int) -> Array:
    """round(x / scale) + zero, saturated to int8, as int32."""
    return _saturated(x.values.astype(np.float32) / scale, zero)


def _saturated(scaled: Array, zero: int) -> Array:
    with np.errstate(all="ignore"):
        return np.clip(np.rint(scaled) + np.float32(zero), _LOW, _HIGH).astype(np.int32)


def factor_for(x: FiniteValues, scale: np.float32, zero: int) -> Tensor | None:
    """A factor that has the same quantised results as division by the scale; None if none is found."""
    wanted = quantised_values(x, scale, zero)
    factor = np.float32(1) / scale
    for step in range(2 * _NEIGHBOURS + 1):
        tried = _neighbour(factor, (step + 1) // 2 * (-1 if step % 2 else 1))
        if np.array_equal(_saturated(x.values.astype(np.float32) * tried, zero), wanted):
            return known(tried)
    return None


def _neighbour(value: np.float32, steps: int) -> np.float32:
    """The float that is this many floats after a positive one."""
    return np.float32((np.asarray(value).view(np.int32) + np.int32(steps)).view(np.float32)[()])


@dataclass(frozen=True)
class Clamp:
    """Quantised results that are the source, limited to a range."""

    low: int
    high: int


@dataclass(frozen=True)
class Line:
    """Quantised results round((source + offset) * factor) + zero, saturated, computed in f32."""

    offset: np.float32
    factor: np.float32
    zero: int


def function_of_source(x: FiniteValues, scale: np.float32, zero: int) -> Clamp | Line | None:
    """A cheap function of the source with the same quantised results for each of its 256 values; None for others."""
    if x.source is None:
        return None
    wanted = quantised_values(x, scale, zero)
    low, high = int(wanted.min()), int(wanted.max())
    if np.array_equal(np.clip(_CODES, low, high), wanted):
        return Clamp(low, high)
    inner = np.flatnonzero((wanted > _LOW) & (wanted < _HIGH))
    if len(inner) < 2 or inner[-1] - inner[0] + 1 != len(inner):
        return None
    first, last = int(inner[0]), int(inner[-1])
    ends = x.values[[first, last]].astype(np.float64) / scale
    slope = (ends[1] - ends[0]) / (last - first)
    if not slope > 0:
        return None
    factor, offset = np.float32(slope), np.float32(ends[0] / slope - _CODES[first])
    for tried in (np.float32(np.rint(offset)), offset):
        if np.array_equal(_saturated((_CODES.astype(np.float32) + tried) * factor, zero), wanted):
            return Line(tried, factor, zero)
    return None
