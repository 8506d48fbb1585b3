"""
A compressed format with one byte per element, for tensors whose values saturate at 0 and 6, such as results of relu6.
"""

from __future__ import annotations

import numpy as np
from meshloom.dialects.coreasm.encoding import TypeCode
from meshloom.lowering.codegen.emitter import Emitter
from meshloom.lowering.codegen.view import View
from numpy.typing import NDArray

from meshloom.plugins import Format, elements_of

LARGEST = 6.0
STEPS = np.float32(255 / LARGEST)
"""Number of steps per unit of the values."""
STEP = np.float32(LARGEST / 255)


class ByteToSix(Format):
    """
    255 equal steps from 0 to 6. Values outside of this range become 0 or 6, so it is for networks without such values.
    """

    name = "byte_to_six"
    nbytes = 1
    relative_error = 0.002
    """Half a step, relative to the largest value."""

    def pack(self, values: NDArray[np.float32]) -> NDArray[np.uint8]:
        return np.clip(np.rint(np.nan_to_num(values * STEPS)), 0, 255).astype(np.uint8)[..., None]

    def unpack(self, data: NDArray[np.uint8]) -> NDArray[np.float32]:
        return data[..., 0].astype(np.float32) * STEP


def pack_bytes(emitter: Emitter, out: View, source: View) -> None:
    """Pack a tile by one instruction of the chip, which rounds and saturates."""
    emitter.quantize(elements_of(out, TypeCode.U8), source, float(STEPS), 0)


def unpack_bytes(emitter: Emitter, out: View, source: View) -> None:
    """Unpack a tile by a conversion and a multiplication by the size of a step."""
    emitter.unary("mov", out, elements_of(source, TypeCode.U8))
    emitter.binary("mul", out, out, float(STEP))
