"""Constants of a program: reading their values as arrays, and creating new ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import bf16
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dataflow import BroadcastOp, ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.constants import attribute_of, narrow_bf16, numpy_type, widen_bf16
from ...dialects.dataflow.evaluate import evaluate
from ...dialects.dataflow.sources import LARGEST_CONSTANT
from ...dialects.dataflow.types import Tensor, element_of, is_pair, shape_of, tensor
from ...formats.weights import STORE, WeightRef

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]

SMALLEST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
"""Smallest positive normal number of each float type."""

DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
"""Binary digits of each float type."""


def constant_source(value: SSAValue) -> ConstantOp | WeightOp | None:
    """The constant or weight behind a value, through reshapes; None for other values."""
    owner = value.owner
    while isinstance(owner, BroadcastOp | ReshapeOp):
        owner = owner.operand.owner
    return owner if isinstance(owner, ConstantOp | WeightOp) else None


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant or weight, possibly reshaped."""
    return constant_source(value) is not None


def source_name(source: ConstantOp | WeightOp) -> str:
    """The name of a weight, or the name hint of a constant's value."""
    return source.sym_name.data if isinstance(source, WeightOp) else source.result.name_hint or "constant"


def constant_array(value: SSAValue) -> Array | None:
    """
    The elements of a constant value in storage form, None for other values and for pairs of 4-bit integers. Broadcast
    values may be returned before the broadcast (with sizes of 1), but always with the value's rank.

    Raises InputError if the file of a weight is missing or has changed.
    """
    owner = value.owner
    match owner:
        case ConstantOp() | WeightOp():
            return None if is_pair(element_of(value)) else evaluate(owner, ())
        case BroadcastOp():
            inner = constant_array(owner.operand)
            return None if inner is None else inner.reshape((1,) * (len(shape_of(value)) - inner.ndim) + inner.shape)
        case ReshapeOp():
            inner = constant_array(owner.operand)
            return None if inner is None else np.broadcast_to(inner, shape_of(owner.operand)).reshape(shape_of(value))
        case _:
            return None


def constant_doubles(value: SSAValue) -> Doubles | None:
    """The numbers of a constant value of a float type, None for other values; otherwise as `constant_array`."""
    array = constant_array(value)
    if array is None:
        return None
    return (widen_bf16(array) if element_of(value) == bf16 else array).astype(np.float64)


def rounded(array: Doubles, element: Attribute) -> Array:
    """The nearest numbers of a float type, in storage form."""
    with np.errstate(over="ignore"):
        if element == bf16:
            return narrow_bf16(array.astype(np.float32))
        return array.astype(numpy_type(element))


def largest_finite(element: Attribute) -> float:
    """The largest number of a float type."""
    if element == bf16:
        return float(widen_bf16(np.asarray([0x7F7F], np.uint16))[0])
    return float(np.finfo(numpy_type(element)).max)


def new_name(wanted: str, names: set[str]) -> str:
    """The name `wanted` for a weight, with a number appended if it is in `names`; the new name is added to `names`."""
    name, number = wanted, 1
    while name in names:
        name, number = f"{wanted}.{number}", number + 1
    names.add(name)
    return name


def source_of(array: Array, element: Attribute, name: str) -> Operation:
    """A constant or, if it is large, a weight of this name with its bytes in the store of the process."""
    if array.nbytes <= LARGEST_CONSTANT and not is_pair(element):
        return ConstantOp(attribute_of(array, element))
    return weight_of(STORE.put(array), tensor(element, array.shape), name)


def weight_of(ref: WeightRef, type: Tensor, name: str) -> WeightOp:
    """The weight of this name with the bytes that `ref` refers to."""
    return WeightOp(name, type, source=ref.source, offset=ref.offset, nbytes=ref.bytes, sha256=ref.sha256)
