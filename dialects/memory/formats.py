"""
The narrow formats that tensors are compressed to, and what each loses.

Rounding is to nearest, ties to even, as in a conversion of IEEE 754. For a finite f32 value x whose rounded value is
not beyond the largest of the format,

    |x - unpacked(packed(x))| <= max(relative_error |x|, least / 2)

with `least` the least positive (subnormal) value. What is larger becomes infinite; f8e4m3 has no infinities, there it
becomes NaN. Signs, also of zeros, stay; NaN stays NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.str_enum import StrEnum


class Format(StrEnum):
    """Sign, exponent and mantissa bits."""

    F16 = "f16"
    """1-5-10, IEEE 754 binary16."""
    BF16 = "bf16"
    """1-8-7"""
    F24 = "f24"
    """1-8-15: f32 without its last eight bits."""
    F8E4M3 = "f8e4m3"
    """1-4-3 with NaN but no infinities, OCP 8-bit floating point."""
    F8E5M2 = "f8e5m2"
    """1-5-2, OCP 8-bit floating point."""

    @property
    def exponent_bits(self) -> int:
        """Width of the exponent."""
        return {"f16": 5, "bf16": 8, "f24": 8, "f8e4m3": 4, "f8e5m2": 5}[self.value]

    @property
    def mantissa_bits(self) -> int:
        """Width of the mantissa, without the leading one that is not stored."""
        return {"f16": 10, "bf16": 7, "f24": 15, "f8e4m3": 3, "f8e5m2": 2}[self.value]

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return (1 + self.exponent_bits + self.mantissa_bits) // 8

    @property
    def relative_error(self) -> float:
        """Half the distance of neighbours, over the value."""
        return 2.0 ** -(self.mantissa_bits + 1)

    @property
    def _least_exponent(self) -> int:
        """Exponent of the least positive value."""
        return 2 - (1 << (self.exponent_bits - 1)) - self.mantissa_bits

    @property
    def least(self) -> float:
        """The least positive value."""
        return 2.0**self._least_exponent

    @property
    def _beyond(self) -> int:
        """The first bit pattern (without sign) after that of the largest finite value: infinity, or NaN."""
        all_ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        return all_ones if self is Format.F8E4M3 else all_ones - (1 << self.mantissa_bits) + 1

    @property
    def _nan(self) -> int:
        return self._beyond if self is Format.F8E4M3 else self._beyond | 1 << (self.mantissa_bits - 1)

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return float(self._values(np.array([self._beyond - 1]))[0])

    def _values(self, codes: NDArray[Any]) -> NDArray[Any]:
        """f64 of finite bit patterns without signs."""
        m = self.mantissa_bits
        exponent = codes >> m
        mantissa = (codes & ((1 << m) - 1)) + np.where(exponent > 0, 1 << m, 0)
        return np.ldexp(mantissa.astype(np.float64), np.maximum(exponent, 1) - 1 + self._least_exponent)

    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Bytes [elements, nbytes], low byte first, of f32 values of any shape."""
        with np.errstate(invalid="ignore"):  # Signalling NaNs.
            wide = np.abs(values.reshape(-1).astype(np.float64))
        finite = np.isfinite(wide)
        magnitude = np.where(finite, wide, 0)
        exponent = np.where(magnitude > 0, np.frexp(magnitude)[1], self._least_exponent)
        # Of the last bit that the mantissa keeps; values below the least normal one share that of the least.
        last = np.maximum(exponent - 1 - self.mantissa_bits, self._least_exponent).astype(np.int64)
        units = np.rint(np.ldexp(magnitude, -last)).astype(np.int64)
        codes = ((last - self._least_exponent) << self.mantissa_bits) + units
        codes = np.where(finite, np.minimum(codes, self._beyond), self._beyond)
        codes = np.where(np.isnan(wide), self._nan, codes)
        codes |= np.signbit(values.reshape(-1)).astype(np.int64) << (8 * self.nbytes - 1)
        return codes.astype("<i8").view(np.uint8).reshape(-1, 8)[:, : self.nbytes].copy()

    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        """f32 values [elements] of bytes as `pack` makes them, each exact."""
        codes = np.zeros(len(data), np.int64)
        for byte in range(self.nbytes):
            codes |= data[:, byte].astype(np.int64) << (8 * byte)
        sign = codes >> (8 * self.nbytes - 1) & 1
        codes &= (1 << (8 * self.nbytes - 1)) - 1
        values = self._values(np.minimum(codes, self._beyond - 1))
        infinite = np.inf if self is not Format.F8E4M3 else np.nan
        values = np.where(codes == self._beyond, infinite, np.where(codes > self._beyond, np.nan, values))
        return np.where(sign == 1, -values, values).astype(np.float32)
