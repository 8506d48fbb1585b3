"""The narrow formats that tensors are compressed to; what each loses, `support/narrow_floats.py` says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.str_enum import StrEnum

from ...support.narrow_floats import F8E4M3, F8E5M2, F24, NarrowFloat


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
    def layout(self) -> NarrowFloat:
        """How an element looks."""
        return _LAYOUTS[self]

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return self.layout.nbytes

    @property
    def relative_error(self) -> float:
        """Half the distance of neighbours, over the value."""
        return self.layout.relative_error

    @property
    def least(self) -> float:
        """The least positive value."""
        return self.layout.least

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return self.layout.largest

    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Bytes [..., nbytes], low byte first, of f32 values [...]."""
        return self.layout.pack(values)

    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        """f32 values [...] of bytes [..., nbytes] as `pack` makes them, each exact."""
        return self.layout.unpack(data)


_LAYOUTS = {
    Format.F16: NarrowFloat(5, 10),
    Format.BF16: NarrowFloat(8, 7),
    Format.F24: F24,
    Format.F8E4M3: F8E4M3,
    Format.F8E5M2: F8E5M2,
}
