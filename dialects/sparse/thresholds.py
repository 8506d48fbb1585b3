"""Conversion of thresholds to the 32 bits of an instruction, so that the comparison is the same for every element."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import Float16Type, Float64Type, i1
from xdsl.ir import Attribute

from ...support.errors import InputError
from ..dataflow.constants import numpy_type
from ..dataflow.types import is_float

_LARGEST = (1 << 31) - 1


def encoder_threshold(threshold: float, element: Attribute) -> float:
    """
    The number with which an encoder compares elements of a type. Raises InputError if an instruction cannot represent
    it: some thresholds of f64 and of 64-bit integers have no equivalent in 32 bits, and the largest magnitude of signed
    integers is not a value of their type.
    """
    if element == i1:
        return float(threshold >= 1)
    with np.errstate(over="ignore"):
        if isinstance(element, Float64Type):
            if float(np.float32(threshold)) != threshold:
                raise InputError(
                    f"threshold = {threshold} of f64 elements: an instruction holds it as f32, which has no such "
                    f"number; take {float(np.float32(threshold))!r}"
                )
            return threshold
        if is_float(element):  # bf16 is compared as f32
            return float(np.float16(threshold) if isinstance(element, Float16Type) else np.float32(threshold))
    limits, whole = np.iinfo(numpy_type(element)), math.floor(threshold)
    if limits.min == 0:
        whole = min(whole, int(limits.max))
    if whole > limits.max or (limits.bits == 64 and whole > _LARGEST):
        raise InputError(
            f"threshold = {threshold} of {element} elements: an instruction holds none above "
            f"{min(int(limits.max), _LARGEST)}"
        )
    return float(whole)
