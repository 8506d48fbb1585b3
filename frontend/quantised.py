"""
What tensors know of the integers that they are made of, and how that survives movement.

`(values - zero) * scale` is what DequantizeLinear computes, and what Cast, Sub and Mul say step by step. A tensor that
comes from such a chain carries its parts, so that what multiplies it can multiply the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .tensors import FLOAT32, Dtype, Tensor, known

if TYPE_CHECKING:
    from .builder_movement import Movement

BYTES: tuple[Dtype, ...] = (np.dtype(np.int8), np.dtype(np.uint8))
"""The integers that matrix units take."""


@dataclass(frozen=True, eq=False)
class Quantised:
    """(values - zero) * scale, in f32; both parameters broadcast to the shape of the values."""

    values: Tensor
    """Integers of 8 bits."""
    zero: Tensor | None = None
    """f32 or the type of the values; None: 0."""
    scale: Tensor | None = None
    """f32; None: 1."""


def after_cast(x: Tensor, dtype: Dtype) -> Quantised | None:
    """Of integers that become f32."""
    return Quantised(x) if x.dtype in BYTES and dtype == FLOAT32 else None


def after_binary(name: str, x: Tensor, y: Tensor, shape: tuple[int, ...]) -> Quantised | None:
    """Of x - y and x * y."""
    if name == "mul" and x.quantised is None:
        x, y = y, x
    found = x.quantised
    if found is None or x.shape != shape or y.dtype != FLOAT32:
        return None
    if name == "mul" and found.scale is None:
        return Quantised(found.values, found.zero, y)
    if name == "mul" and found.scale is not None and found.scale.array is not None and y.array is not None:
        return Quantised(found.values, found.zero, known(found.scale.array * y.array))
    return Quantised(found.values, y) if name == "sub" and found.zero is None and found.scale is None else None


def full_rank(b: Movement, parameter: Tensor, rank: int) -> Tensor:
    """A parameter with as many dimensions as what it broadcasts to."""
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
    """Of a reshape: parameters of a single number, or where only dimensions of size 1 come and go."""
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
    """Of a transpose."""
    if x.quantised is None:
        return None
    scalars = _scalars(b, x.quantised)
    return _moved(
        scalars,
        b.transpose(scalars.values, permutation),
        lambda one: b.transpose(full_rank(b, one, x.rank), permutation),
    )


def _scalars(b: Movement, x: Quantised) -> Quantised:
    """With parameters of one number without dimensions."""
    zero, scale = (b.reshape(one, []) if one is not None and one.size == 1 else one for one in (x.zero, x.scale))
    return Quantised(x.values, zero, scale)


def fitted(x: Quantised) -> Quantised:
    """Known values with their zero point taken off, where 8 bits hold that; else as they are."""
    if x.values.array is None or x.zero is None or x.zero.array is None:
        return x
    centred = x.values.array.astype(np.int32) - x.zero.array.astype(np.int32)
    if centred.size and (centred.min() < -128 or centred.max() > 127):
        return x
    return Quantised(known(centred.astype(np.int8), name=x.values.name), None, x.scale)
