"""
The formats to which tensors are compressed between two uses: the narrow floats of the chip, and formats of plug-ins.

An f32 element is converted to a fixed number of bytes. `support/narrow_floats.py` defines the rounding of narrow
floats.
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import NDArray

from ...support.narrow_floats import F8E4M3 as LAYOUT_F8E4M3
from ...support.narrow_floats import F8E5M2 as LAYOUT_F8E5M2
from ...support.narrow_floats import F24 as LAYOUT_F24
from ...support.narrow_floats import NarrowFloat


class Format(abc.ABC):
    """A representation of f32 elements in fewer bytes."""

    name: str
    """The name in `!memory.stash<..., NAME>`: letters, digits and underscores."""
    nbytes: int
    """Bytes of an element, 1 to 4."""
    relative_error: float
    """The largest error of an element, divided by the largest magnitude of a tensor of the network."""
    vpu_ops: int = 1
    """Number of vector unit operations for each element, in the slower direction; for estimates."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @abc.abstractmethod
    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Bytes [..., nbytes], low byte first, of f32 values [...]; each element is converted independently."""

    @abc.abstractmethod
    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        """f32 values [...] of bytes [..., nbytes] that `pack` has written."""


class FloatFormat(Format):
    """
    A floating-point type of the chip. `relative_error` applies to each element that is not too large or too small.
    """

    def __init__(self, name: str, layout: NarrowFloat) -> None:
        self.name, self.layout = name, layout
        self.nbytes = layout.nbytes
        self.relative_error = layout.relative_error
        """Half the distance between neighbouring values, divided by the value."""
        self.least = layout.least
        """The least positive value."""
        self.largest = layout.largest
        """The largest finite value."""

    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        return self.layout.pack(values)

    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        return self.layout.unpack(data)


F16 = FloatFormat("f16", NarrowFloat(5, 10))
"""1-5-10, IEEE 754 binary16."""
BF16 = FloatFormat("bf16", NarrowFloat(8, 7))
"""1-8-7"""
F24 = FloatFormat("f24", LAYOUT_F24)
"""1-8-15: f32 without its last eight bits."""
F8E4M3 = FloatFormat("f8e4m3", LAYOUT_F8E4M3)
"""1-4-3 with NaN but no infinities, OCP 8-bit floating point."""
F8E5M2 = FloatFormat("f8e5m2", LAYOUT_F8E5M2)
"""1-5-2, OCP 8-bit floating point."""
FLOATS = (F16, BF16, F24, F8E4M3, F8E5M2)
"""The project's own formats."""

FORMATS: dict[str, Format] = {format.name: format for format in FLOATS}
"""All formats by name; plug-ins add to them."""


def format_named(name: str) -> Format:
    """The format of this name. Raises ValueError, which lists all formats, if there is none."""
    if name not in FORMATS:
        raise ValueError(f"format {name}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]
