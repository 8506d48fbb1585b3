"""
Quantisation metadata of tensors during import, and its propagation through operations.

DequantizeLinear computes `(values - zero) * scale`, as does a chain of Cast, Sub and Mul. A tensor that results from
such a chain refers to the three parts, so that its products can be computed on the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .tensors import FLOAT32, Array, Dtype, Tensor, known

if TYPE_CHECKING:
    from .builder import Builder
    from .builder_movement import Movement

LARGEST_ZERO_POINT = 1 << 16
FEW_BITS = (((-8, 7), (0, 15)), ((-128, 127),))
"""Ranges of 4-bit (signed, unsigned) and of 8-bit signed integers; all are held as int8."""

BYTES: tuple[Dtype, ...] = (np.dtype(np.int8), np.dtype(np.uint8))
"""Integer types that the matrix unit multiplies."""


def signed(b: Builder, x: Tensor) -> Tensor:
    """The same integers as int8: those of uint8 minus 128."""
    if x.dtype == np.dtype(np.int8):
        return x
    if x.signed is None:
        if x.array is not None:
            x.signed = known((x.array.astype(np.int16) - 128).astype(np.int8), name=x.name)
        else:
            x.signed = b.bitcast(b.binary("xor", x, 128), np.dtype(np.int8))
    return x.signed


def unsigned(b: Builder, x: Tensor) -> Tensor:
    """The inverse of `signed`: uint8 from int8."""
    result = b.binary("xor", b.bitcast(x, np.dtype(np.uint8)), 128)
    result.signed = x
    return result


@dataclass(frozen=True, eq=False)
class Quantised:
    """The quantised form of an f32 tensor (values - zero) * scale; both parameters broadcast to the values' shape."""

    values: Tensor
    """int8"""
    zero: Tensor | None = None
    """Known int32, within the range of int8; None: 0."""
    scale: Tensor | None = None
    """f32; None: 1."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The integer form of an f32 tensor exact * scale: sums of products of quantised values before any rounding."""

    exact: Tensor
    """int32"""
    scale: Tensor
    """f32, broadcasting to the sums."""


def after_cast(b: Builder, x: Tensor, dtype: Dtype) -> Quantised | None:
    """The quantised form of a cast of integers to f32; None for other casts."""
    if x.dtype not in BYTES or dtype != FLOAT32:
        return None
    return Quantised(signed(b, x), None if x.dtype == np.dtype(np.int8) else known(-128, np.int32))


def after_binary(name: str, x: Tensor, y: Tensor, shape: tuple[int, ...]) -> Quantised | None:
    """The quantised form of x - y or x * y; None if there is none."""
    if name == "mul" and x.quantised is None:
        x, y = y, x
    found = x.quantised
    if found is None or x.shape != shape or y.dtype != FLOAT32:
        return None
    if name == "mul" and found.scale is None:
        return Quantised(found.values, found.zero, y)
    if name == "mul" and found.scale is not None and found.scale.array is not None and y.array is not None:
        return Quantised(found.values, found.zero, known(found.scale.array * y.array))
    if name == "sub" and found.scale is None and y.array is not None:
        zero = y.array if found.zero is None or found.zero.array is None else y.array + found.zero.array
        if zero.size and np.all(zero == np.rint(zero)) and -128 <= zero.min() and zero.max() <= 127:
            return Quantised(found.values, known(zero.astype(np.int32)) if zero.any() else None)
    return None


def sums_after_addition(b: Builder, x: Tensor, y: Tensor, shape: tuple[int, ...]) -> Sums | None:
    """
    The integer form of sums plus a bias that is a multiple of their scale, as quantisers produce it; None for other
    operands.
    """
    x, y = (y, x) if x.sums is None else (x, y)
    if x.sums is None or y.array is None or x.sums.scale.array is None or x.shape != shape:
        return None
    scale = x.sums.scale.array
    with np.errstate(all="ignore"):
        steps = np.rint(y.array.astype(np.float64) / scale)
        near = np.abs(steps * scale - y.array) <= 1e-3 * np.abs(scale) + 1e-6 * np.abs(y.array)
    if not steps.size or not near.all() or np.abs(steps).max() >= 1 << 31:
        return None
    return Sums(b.add(x.sums.exact, known(steps.astype(np.int32))), x.sums.scale)


def sums_reshaped(b: Movement, x: Tensor, shape: Sequence[int]) -> Sums | None:
    """
    The integer form of a reshape that keeps the last dimension, the only one along which scales may vary; None for
    other reshapes.
    """
    if x.sums is None:
        return None
    scale = x.sums.scale
    if scale.size > 1 and (scale.size != scale.shape[-1] or not shape or shape[-1] != x.shape[-1]):
        return None
    return Sums(b.reshape(x.sums.exact, shape), b.reshape(scale, [] if scale.size == 1 else [scale.size]))


def pooled(x: Tensor, values: Callable[[Tensor], Tensor]) -> Quantised | None:
    """
    The quantised form of a maximum: the maximum of the integers, if scale and zero point are the same for all elements;
    else None.
    """
    found = x.quantised
    if found is None or any(one is not None and one.size > 1 for one in (found.zero, found.scale)):
        return None
    if found.scale is not None and (found.scale.array is None or not (found.scale.array > 0).all()):
        return None
    return Quantised(values(found.values), found.zero, found.scale)


def same_steps(x: Quantised, scale: Tensor, zero: int) -> bool:
    """Whether the values already have this scale and (int8) zero point."""
    own = 0 if x.zero is None else x.zero.array
    if own is None or not np.all(own == zero) or scale.array is None:
        return False
    if x.scale is None:
        return bool(np.all(scale.array == 1))
    return x.scale.array is not None and x.scale.size == scale.size == 1 and bool(np.all(x.scale.array == scale.array))


def full_rank(b: Movement, parameter: Tensor, rank: int) -> Tensor:
    """A parameter with leading dimensions of size 1 added, up to `rank`."""
    return b.reshape(parameter, [*[1] * (rank - parameter.rank), *parameter.shape])


def _moved(x: Quantised, values: Tensor, parameter: Callable[[Tensor], Tensor | None]) -> Quantised | None:
    found: list[Tensor | None] = []
    for one in (x.zero, x.scale):
        moved = one if one is None or one.size == 1 else parameter(one)
        if one is not None and moved is None:
            return None
        found.append(moved)
    zero, scale = found
    return Quantised(values, zero, scale)


def reshaped(b: Movement, x: Tensor, shape: Sequence[int]) -> Quantised | None:
    """
    The quantised form of a reshape, if the parameters have one element or only dimensions of size 1 are added or
    removed; else None.
    """
    if x.quantised is None:
        return None
    moving = [size for size in x.shape if size != 1]
    same = moving == [size for size in shape if size != 1]

    def parameter(one: Tensor) -> Tensor | None:
        if not same:
            return None
        full = full_rank(b, one, x.rank).shape
        kept = iter([size for size, whole in zip(full, x.shape, strict=True) if whole != 1])
        return b.reshape(one, [1 if size == 1 else next(kept) for size in shape])

    scalars = _scalars(b, x.quantised)
    return _moved(scalars, b.reshape(scalars.values, shape), parameter)


def transposed(b: Movement, x: Tensor, permutation: Sequence[int]) -> Quantised | None:
    """The quantised form of a transpose; None if x has none."""
    if x.quantised is None:
        return None
    scalars = _scalars(b, x.quantised)
    return _moved(
        scalars,
        b.transpose(scalars.values, permutation),
        lambda one: b.transpose(full_rank(b, one, x.rank), permutation),
    )


def _scalars(b: Movement, x: Quantised) -> Quantised:
    """x with parameters of one element reshaped to scalars."""
    zero, scale = (b.reshape(one, []) if one is not None and one.size == 1 else one for one in (x.zero, x.scale))
    return Quantised(x.values, zero, scale)


def narrowest(values: Array, zero: Array | None) -> tuple[Array, Array | None] | None:
    """
    Known quantised values in as few bits as possible: integers of 4 or 8 bits, held as int8, and the zero points that
    remain to be subtracted from them, of the shape of `zero`: None if they are all 0; int8; or float32 if the zero
    points are not integers. None if 8 bits do not suffice.
    """
    exact = values.astype(np.int32)
    zero = np.zeros((1,) * values.ndim, np.int32) if zero is None else zero
    low = int(exact.min()) if exact.size else 0
    integral = bool(np.all(np.rint(zero) == zero)) and float(np.abs(zero).max(initial=0)) <= LARGEST_ZERO_POINT
    centred = exact - zero.astype(np.int32) if integral else None
    for ranges in FEW_BITS:
        if centred is not None and any(_within(centred, one) for one in ranges):
            return centred.astype(np.int8), None
        shift = 0 if any(_within(exact, one) for one in ranges) else low - ranges[0][0]
        left = zero - shift
        if _within(exact - shift, ranges[0]) or not shift:
            if not integral:
                return (exact - shift).astype(np.int8), left.astype(np.float32)
            if _within(left, FEW_BITS[-1][0]):
                return (exact - shift).astype(np.int8), left.astype(np.int8)
    return None


def _within(values: Array, limits: tuple[int, int]) -> bool:
    return not values.size or (limits[0] <= int(values.min()) and int(values.max()) <= limits[1])


def fitted(x: Quantised) -> Quantised:
    """Known values minus their zero point if 8 bits can hold the differences; else unchanged."""
    if x.values.array is None or x.zero is None or x.zero.array is None:
        return x
    centred = x.values.array.astype(np.int32) - x.zero.array.astype(np.int32)
    if centred.size and (centred.min() < -128 or centred.max() > 127):
        return x
    return Quantised(known(centred.astype(np.int8), name=x.values.name), None, x.scale)
