"""
Storage-only element types: integers of 2 and 4 bits, floats of 4 and 8 bits.

During import a value of such a type is held, unpacked, in the smallest type of the chip that represents each of its
values exactly; only conversions distinguish the two. Apart from conversion, ONNX's operators on these types only move
elements. Conversion rounds as ONNX's Cast does, and consists of ordinary operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from .builder import Builder
from .node import Node
from .tensors import FLOAT32, HELD_IN, Array, Dtype, NodeError, Tensor, is_float, known

_POWERS: Dtype = np.dtype(ml_dtypes.float8_e8m0fnu)


@dataclass(frozen=True)
class Rounding:
    """Rounding to a narrow float type: ONNX's attributes `saturate` and `round_mode`."""

    saturate: bool = True
    """Whether values above the largest finite value become that value, instead of infinity or NaN."""
    mode: str = "up"
    """The direction of rounding to powers of two (e8m0): up, down or nearest. Other types ignore it."""

    @classmethod
    def of(cls, node: Node) -> Rounding:
        """The rounding that a node's attributes specify. Raises NodeError for an unknown mode."""
        mode = node.str("round_mode", "up")
        if mode not in ("up", "down", "nearest"):
            raise NodeError(f"round_mode {mode!r} is not one of up, down, nearest")
        return cls(bool(node.int("saturate", 1)), mode)


def convert(b: Builder, x: Tensor, dtype: Dtype, rounding: Rounding = Rounding()) -> Tensor:
    """x in another element type, narrow or not, by the rules of ONNX's Cast."""
    if x.dtype == dtype:
        return x
    if x.dtype in HELD_IN and x.array is None:
        x = Tensor(x.shape, HELD_IN[x.dtype], value=x.value)
    if dtype not in HELD_IN:
        return b.cast(x, dtype)
    if x.array is not None:
        wide = x.array.astype(np.float32) if x.dtype in HELD_IN and is_float(x.dtype) else x.array
        x = known(wide.astype(HELD_IN[x.dtype]) if x.dtype in HELD_IN else wide)
    held = _narrow_float(b, x, dtype, rounding) if is_float(dtype) else _narrow_integer(b, x, dtype)
    if held.array is not None:
        return known(held.array.astype(dtype))
    return Tensor(held.shape, dtype, value=held.value)


def _narrow_integer(b: Builder, x: Tensor, dtype: Dtype) -> Tensor:
    """The low bits of x, sign-extended for a signed type."""
    held = HELD_IN[dtype]
    bits = int(ml_dtypes.iinfo(dtype).bits)
    low = b.cast(x, np.dtype(np.int32)) if x.is_float else x
    low = b.binary("and", b.cast(low, held), (1 << bits) - 1)
    if held == np.uint8:
        return low
    sign = 1 << (bits - 1)
    return b.sub(b.binary("xor", low, sign), sign)


def _narrow_float(b: Builder, x: Tensor, dtype: Dtype, rounding: Rounding) -> Tensor:
    x = x if x.dtype == np.float64 else b.cast(x, FLOAT32)
    limits = cast(Any, ml_dtypes).finfo(dtype)
    if dtype == _POWERS:
        return b.cast(_power_of_two(b, x, limits, rounding), HELD_IN[dtype])
    largest = float(limits.max)
    saturate = rounding.saturate or not _has_nan(dtype)
    if saturate:
        x = b.minimum(b.maximum(x, -largest), largest)
    ulp = b.mul(_leading_power(b, b.unary("abs", x), int(limits.minexp), int(limits.maxexp) - 1), 2.0**-limits.nmant)
    result = b.mul(b.unary("round", b.div(x, ulp)), ulp)
    if not saturate:
        beyond = b.compare("gt", b.unary("abs", result), largest)
        outside = b.mul(result, np.inf) if np.isinf(_narrowed(np.inf, dtype)) else np.nan
        result = b.select(beyond, outside, result)
    if not np.signbit(_narrowed(-0.0, dtype)):
        result = b.add(result, 0.0)  # a type without -0
    return b.cast(result, HELD_IN[dtype])


def _power_of_two(b: Builder, x: Tensor, limits: Any, rounding: Rounding) -> Tensor:
    """Positive x rounded to powers of two; 0 becomes the smallest."""
    smallest, largest = float(limits.smallest_normal), float(limits.max)
    if rounding.saturate:
        x = b.minimum(x, largest)
    size = b.maximum(x, smallest)
    power = _leading_power(b, size, round(np.log2(smallest)), round(np.log2(largest)))
    if rounding.mode != "down":
        part = b.div(size, power)
        up = b.compare("ge", part, 1.5) if rounding.mode == "nearest" else b.compare("gt", part, 1.0)
        power = b.select(up, b.mul(power, 2.0), power)
    power = b.select(b.compare("gt", power, largest), np.nan, power)
    return b.select(b.unary("isnan", x), x, power)


def _leading_power(b: Builder, size: Tensor, least: int, greatest: int) -> Tensor:
    """
    The power of two of the leading bit of size >= 0, at least 2^least; for sizes below 2^(greatest + 1).

    The exponent's bits are found one after the other, from the highest on: products of powers of two are exact.
    """
    power = b.operand(2.0**least, size.dtype)
    for bit in reversed(range((greatest - least).bit_length())):
        for step in (64,) * (1 << bit >> 6) or (1 << bit,):  # larger factors exceed f32
            candidate = b.mul(power, 2.0**step)
            power = b.select(b.compare("ge", size, candidate), candidate, power)
    return power


def _has_nan(dtype: Dtype) -> bool:
    return bool(np.isnan(_narrowed(np.nan, dtype)))


def _narrowed(value: float, dtype: Dtype) -> Array:
    """A value rounded to the type, as f32."""
    with np.errstate(all="ignore"):
        return np.asarray(value, np.float32).astype(dtype).astype(np.float32)
