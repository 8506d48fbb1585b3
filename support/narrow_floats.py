"""
Floating-point formats narrower than f32: conversion from f32 with rounding, and back.

Rounding is to nearest, ties to even, as in IEEE 754. For a finite f32 value x whose rounded value is at most the
largest finite value of the format,

    |x - unpack(pack(x))| <= max(relative_error |x|, least / 2)

with `least` the least positive (subnormal) value. Larger values become infinite, or NaN in a format without
infinities. Signs are kept, also those of zeros; NaN remains NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MANTISSA = 23
"""Bits of f32's mantissa; its exponent has 8, its bias is 127."""
_BIAS = 127
_INFINITY = 0x7F800000


@dataclass(frozen=True)
class NarrowFloat:
    """A sign, an exponent (at most as wide as f32's, the bias is half its range) and a mantissa, in whole bytes."""

    exponent_bits: int
    mantissa_bits: int
    """Stored bits, without the implicit leading one."""
    infinities: bool = True
    """If False, all ones (apart from the sign) is the only NaN; other patterns with the largest exponent are finite."""

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return (1 + self.exponent_bits + self.mantissa_bits) // 8

    @property
    def relative_error(self) -> float:
        """Largest relative error of rounding to a normal value."""
        return 2.0 ** -(self.mantissa_bits + 1)

    @property
    def bias(self) -> int:
        """Exponent bias: the stored exponent minus the exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def least(self) -> float:
        """The least positive value."""
        return 2.0 ** (1 - self.bias - self.mantissa_bits)

    @property
    def beyond(self) -> int:
        """The bit pattern (without sign) after that of the largest finite value: infinity, or NaN."""
        all_ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        return all_ones - (1 << self.mantissa_bits) + 1 if self.infinities else all_ones

    @property
    def nan(self) -> int:
        """The bit pattern to which NaN is converted, without sign."""
        return self.beyond | 1 << (self.mantissa_bits - 1) if self.infinities else self.beyond

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return float(self._magnitudes(np.array([self.beyond - 1]))[0])

    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Bytes [..., nbytes], low byte first, of f32 values [...]."""
        bits = np.asarray(values, np.float32, order="C").view(np.uint32)
        size = bits & np.uint32(0x7FFFFFFF)
        cut = np.uint32(_MANTISSA - self.mantissa_bits)
        rounded = (size + ((np.uint32(1) << (cut - np.uint32(1))) - np.uint32(1)) + (size >> cut & np.uint32(1))) >> cut
        codes = rounded.astype(np.int64) - ((_BIAS - self.bias) << self.mantissa_bits)
        if self.bias < _BIAS:
            # Subnormal values: their spacing is constant, that of the least normal value.
            low = np.asarray(size < ((_BIAS - self.bias + 1) << _MANTISSA))
            small = np.where(low, size, np.uint32(0)).view(np.float32)
            codes = np.where(low, np.rint(small * np.float32(1 / self.least)).astype(np.int64), codes)
        codes = np.minimum(codes, self.beyond)
        codes = np.where(size > _INFINITY, self.nan, codes)
        codes |= (bits >> np.uint32(31)).astype(np.int64) << (8 * self.nbytes - 1)
        return codes.astype("<i8")[..., None].view(np.uint8)[..., : self.nbytes].copy()

    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        """f32 values [...] of bytes [..., nbytes] as `pack` returns them; the conversion is exact."""
        codes = np.zeros(data.shape[:-1], np.uint32)
        for byte in range(self.nbytes):
            codes |= data[..., byte].astype(np.uint32) << np.uint32(8 * byte)
        if self.bias == _BIAS:
            # The format is f32 with a shorter mantissa.
            return (codes << np.uint32(_MANTISSA - self.mantissa_bits)).view(np.float32)
        return self._values[codes]

    @cached_property
    def _values(self) -> NDArray[np.float32]:
        """The value of every bit pattern."""
        codes = np.arange(1 << (8 * self.nbytes - 1))
        values = self._magnitudes(np.minimum(codes, self.beyond - 1))
        values[self.beyond] = np.inf if self.infinities else np.nan
        values[self.beyond + 1 :] = np.nan
        return np.concatenate([values, -values]).astype(np.float32)

    def _magnitudes(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Values of finite bit patterns without signs."""
        m = self.mantissa_bits
        exponent = codes >> m
        mantissa = (codes & ((1 << m) - 1)) + np.where(exponent > 0, 1 << m, 0)
        return np.ldexp(mantissa.astype(np.float64), np.maximum(exponent, 1) - self.bias - m)


F24 = NarrowFloat(8, 15)
"""f32 without the eight lowest bits of the mantissa."""
F8E4M3 = NarrowFloat(4, 3, infinities=False)
"""OCP 8-bit floating point, E4M3."""
F8E5M2 = NarrowFloat(5, 2)
"""OCP 8-bit floating point, E5M2."""
