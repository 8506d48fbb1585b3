"""Thresholds as instructions hold them: 32 bits, for which every element counts, or does not, as for the threshold."""

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
    The number that an encoder compares elements of a type with. Raises InputError where no instruction holds one: f64
    has thresholds that f32 has not, and so have integers of 64 bits; signed integers have a magnitude that is no
    number of theirs.
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
