"""Memories as bytes, element types, and the geometry of operands: NumPy views of raw bytes, without copies."""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...support.errors import MeshloomError
from ...support.narrow_floats import F8E4M3, F8E5M2, F24, NarrowFloat
from .errors import Fault

Array: TypeAlias = NDArray[Any]
Bytes: TypeAlias = NDArray[np.uint8]

F32, F16, BF16, F64, I8, U8, I16, U16, I32, U32, I64, U64, BOOL = range(13)
"""Codes of the element types of arithmetic, as in the `dtype` field of an instruction."""

NARROW: dict[int, NarrowFloat] = {13: F24, 14: F8E4M3, 15: F8E5M2}
"""Element types for storage only, by code."""

STORAGE: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(name)
    for name in (
        "<f4",
        "<f2",
        "<u2",
        "<f8",
        "i1",
        "u1",
        "<i2",
        "<u2",
        "<i4",
        "<u4",
        "<i8",
        "<u8",
        "?",
        "V3",
        "u1",
        "u1",
    )
)
"""The NumPy type that stores each element type; bf16 and narrow floats, which NumPy lacks, are stored as bits."""

COMPUTE: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(np.float32) if code in (F16, BF16) or code in NARROW else stored for code, stored in enumerate(STORAGE)
)
"""The NumPy type of arithmetic: shorter floats are widened to f32, and the result is rounded once."""

MAX_POINTS = 1 << 31
"""Upper limit on the elements of an operand, to reject damaged descriptors."""


def is_float(code: int) -> bool:
    """Whether the element type is a floating-point type."""
    return code <= F64 or code in NARROW


def storage(code: int) -> np.dtype[Any]:
    """The NumPy type that stores element type `code`. Raises Fault for an unknown code."""
    if code >= len(STORAGE):
        raise Fault(f"element type {code} does not exist")
    return STORAGE[code]


def widen_bf16(bits: Array) -> NDArray[np.float32]:
    """bf16 bits (u16, any shape) as f32, exactly."""
    return np.left_shift(bits, 16, dtype=np.uint32).view(np.float32)


def round_bf16(values: Array) -> NDArray[np.uint16]:
    """f32 values (any shape) as bf16 bits: rounded to nearest, ties to even; NaN remains NaN."""
    bits = np.asarray(values, np.float32, order="C").view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(nan, (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def widen(raw: Array, code: int) -> NDArray[np.float32]:
    """f32 values of stored narrow floats (any shape), exactly."""
    packed = np.asarray(raw, order="C")
    return NARROW[code].unpack(packed[..., None].view(np.uint8))


def narrowed(values: Array, code: int) -> Array:
    """f32 values (any shape) rounded to narrow floats, in the type that stores them."""
    return NARROW[code].pack(values).view(STORAGE[code])[..., 0]


def store(target: Array, code: int, values: Array) -> None:
    """Write `values` into the view `target` of element type `code`, converting (floats to integers truncate)."""
    if code == BF16:
        target[...] = round_bf16(values)
    elif code in NARROW:
        target[...] = narrowed(values, code)
    elif code == BOOL and values.dtype != np.bool_:
        np.not_equal(values, 0, out=target)
    else:
        target[...] = values


class Geometry(NamedTuple):
    """Sizes (>= 1) and byte strides of an operand's dimensions, outermost first."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def points(self) -> int:
        """Number of elements that it iterates over."""
        return math.prod(self.shape)

    def extent(self, itemsize: int) -> tuple[int, int]:
        """First accessed byte and one past the last, relative to the operand's address."""
        spans = [stride * (size - 1) for size, stride in zip(self.shape, self.strides, strict=True)]
        return sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + itemsize

    def last(self, count: int) -> Geometry:
        """The innermost `count` dimensions. Raises Fault if another dimension is larger than 1."""
        first = len(self.shape) - count
        if first < 0 or any(size != 1 for size in self.shape[:first]):
            raise Fault(f"operand of sizes {self.shape} has more than the {count} dimensions that the instruction uses")
        return Geometry(self.shape[first:], self.strides[first:])


def coalesce(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """
    Shape and strides of the same iteration over several operands of equal `shape`, with as few dimensions as possible.

    Dimensions of size 1 are removed; neighbouring dimensions that are contiguous in all operands are merged.
    """
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(step[-1] == operand[dim] * size for step, operand in zip(steps, strides, strict=True)):
            sizes[-1] *= size
            for step, operand in zip(steps, strides, strict=True):
                step[-1] = operand[dim]
        else:
            sizes.append(size)
            for step, operand in zip(steps, strides, strict=True):
                step.append(operand[dim])
    return tuple(sizes), [tuple(step) for step in steps]


def new_memory(size: int) -> Bytes:
    """
    `size` zero bytes. Large memories are mapped, so that pages are allocated only when they are first accessed.

    Raises MeshloomError if this computer does not have enough memory.
    """
    if size < 1 << 20:
        return np.zeros(size, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        pages = mmap.mmap(-1, size, flags=flags)
    except (MemoryError, OSError, ValueError, OverflowError) as error:
        raise MeshloomError(f"this machine cannot allocate {size:,} bytes of emulated memory") from error
    if hasattr(mmap, "MADV_HUGEPAGE"):  # huge pages cause a tenth of the page faults
        try:
            pages.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # kernels without huge pages
            pass
    return np.frombuffer(pages, np.uint8)
