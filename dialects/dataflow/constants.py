"""
Conversions between constants and numpy arrays. This module defines how elements are represented in memory.

Elements are little-endian; bf16 is held as uint16 bit patterns, i1 as one byte per element (numpy bool).
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType, bf16
from xdsl.ir import Attribute, SSAValue

from .sources import ConstantOp, Dense
from .types import ELEMENT_TYPES, Tensor, i4_pair, is_float, tensor, tensor_of, ui4_pair

Array: TypeAlias = NDArray[Any]

NUMPY_TYPES: dict[Attribute, np.dtype[Any]] = {
    element: np.dtype(code)
    for element, code in zip(
        ELEMENT_TYPES,
        ("<f4", "<f2", "<u2", "<f8", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "?"),
        strict=True,
    )
} | {i4_pair: np.dtype("i1"), ui4_pair: np.dtype("u1")}
"""The numpy type that holds each element type (bf16: its bits as uint16; pairs of 4-bit integers: a byte)."""


def numpy_type(element_type: Attribute) -> np.dtype[Any]:
    """The numpy type that holds an element type (bf16: its bits as uint16)."""
    return NUMPY_TYPES[element_type]


def widen_bf16(bits: Array) -> NDArray[np.float32]:
    """f32 values of bf16 bit patterns (exact)."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow_bf16(values: Array) -> NDArray[np.uint16]:
    """bf16 bit patterns of float values, rounded to nearest, ties to even; NaN stays NaN."""
    single = np.asarray(values, np.float32)
    bits = single.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16).astype(np.uint16)
    quiet = ((bits >> 16) | np.uint32(0x40)).astype(np.uint16)
    return np.where(np.isnan(single), quiet, rounded)


def attribute_of(array: Array, element_type: Attribute) -> Dense:
    """The dense attribute of an array; raises ValueError if the array's type does not hold the element type."""
    expected = numpy_type(element_type)
    if array.dtype != expected:
        raise ValueError(f"array of {array.dtype} for a constant of {element_type}: expected {expected}")
    data = np.ascontiguousarray(array).tobytes()
    return DenseIntOrFPElementsAttr(cast("TensorType[Any]", tensor(element_type, array.shape)), BytesAttr(data))


def array_of(value: Dense) -> Array:
    """The elements of a dense attribute as a read-only array; without a copy, except for i1."""
    type: Tensor = value.get_type()  # pyright: ignore[reportAssignmentType]
    dtype = numpy_type(type.element_type)
    if dtype == np.bool_:
        # xDSL's parser represents `true` by a byte of ones; here it is 1, as in numpy.
        array = np.frombuffer(value.data.data, np.uint8) != 0
        array.flags.writeable = False
        return array.reshape(type.get_shape())
    return np.frombuffer(value.data.data, dtype).reshape(type.get_shape())


def scalar_array(value: float, element_type: Attribute) -> Array:
    """A number converted to an element type, as an array of rank 0."""
    if element_type == bf16:
        return np.asarray(narrow_bf16(np.asarray(value, np.float32)))
    return np.asarray(value).astype(numpy_type(element_type))


def splat_attribute(value: float, type: Tensor) -> Dense:
    """The dense attribute whose elements all have the same value."""
    scalar = scalar_array(value, type.element_type)
    return attribute_of(np.full(tuple(type.get_shape()), scalar, scalar.dtype), type.element_type)


def constant_array(value: SSAValue) -> Array | None:
    """The elements of a value that is defined by `dataflow.constant`; else None."""
    owner = value.owner
    return elements_of(owner) if isinstance(owner, ConstantOp) else None


def elements_of(op: ConstantOp) -> Array:
    """The elements of a constant, as `array_of`."""
    return array_of(op.value)  # pyright: ignore[reportArgumentType]


def element_number(op: ConstantOp) -> float:
    """The first element of a constant as a number."""
    first = elements_of(op).reshape(-1)[:1]
    return (widen_bf16(first) if tensor_of(op.result).element_type == bf16 else first).item()


def needs_bytes(value: Dense) -> bool:
    """
    Whether xDSL's decimal text of a float constant could lose bits: infinities, NaN and negative zeros, and integral
    values of more than six digits, which it prints as hexadecimal bits and then reads as integers.
    """
    array = array_of(value)
    type: Tensor = value.get_type()  # pyright: ignore[reportAssignmentType]
    if type.element_type == bf16:
        array = widen_bf16(array)
    with np.errstate(invalid="ignore"):
        size = np.abs(array.astype(np.float64))
        long = (size >= 1e6) & (np.trunc(size) == size)
    return bool((~np.isfinite(array) | long | (np.signbit(array) & (size == 0))).any())


def splat_bits(array: Array) -> bytes | None:
    """The bytes of an element, if all elements of an array have the same bits; else None."""
    if array.size == 0:
        return None
    first = array.reshape(-1)[:1]
    bits = f"u{array.dtype.itemsize}"
    same = np.ascontiguousarray(array).view(bits) == first.view(bits)[0]
    return first.tobytes() if bool(np.all(same)) else None


def is_number(value: SSAValue, number: float) -> bool:
    """Whether a value is a constant whose elements all have the bits of this number (0.0 and -0.0 differ)."""
    array = constant_array(value)
    if array is None:
        return False
    element = tensor_of(value).element_type
    if not is_float(element) and not float(number).is_integer():
        return False
    return splat_bits(array) == scalar_array(number, element).tobytes()
