"""Values during import: known tensors (numpy arrays) and computed ones (SSA values)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from ..dialects.dataflow.types import ui8, ui16, ui32, ui64
from ..support.limits import MOST_UNROLLED, size_problem

if TYPE_CHECKING:
    from .finite_values import FiniteValues
    from .onnx_ops.convolution import Convolution
    from .quantised import Quantised, Sums

Array: TypeAlias = NDArray[Any]
Dtype: TypeAlias = np.dtype[Any]
Shape: TypeAlias = tuple[int, ...]

FLOAT32: Dtype = np.dtype(np.float32)
INT64: Dtype = np.dtype(np.int64)
BOOL: Dtype = np.dtype(np.bool_)
BFLOAT16: Dtype = np.dtype(ml_dtypes.bfloat16)

HELD_IN: dict[Dtype, Dtype] = {
    np.dtype(ml_dtypes.int2): np.dtype(np.int8),
    np.dtype(ml_dtypes.uint2): np.dtype(np.uint8),
    np.dtype(ml_dtypes.int4): np.dtype(np.int8),
    np.dtype(ml_dtypes.uint4): np.dtype(np.uint8),
    np.dtype(ml_dtypes.float4_e2m1fn): np.dtype(np.float16),
    np.dtype(ml_dtypes.float8_e4m3fn): np.dtype(np.float16),
    np.dtype(ml_dtypes.float8_e4m3fnuz): np.dtype(np.float16),
    np.dtype(ml_dtypes.float8_e5m2): np.dtype(np.float16),
    np.dtype(ml_dtypes.float8_e5m2fnuz): np.dtype(np.float16),
    np.dtype(ml_dtypes.float8_e8m0fnu): np.dtype(np.float32),
}
"""Storage-only narrow types, each with the smallest type of the chip that represents all of its values."""

_ELEMENT_TYPES: dict[Dtype, Attribute] = {
    np.dtype(np.float32): f32,
    np.dtype(np.float16): f16,
    BFLOAT16: bf16,
    np.dtype(np.float64): f64,
    np.dtype(np.int8): i8,
    np.dtype(np.uint8): ui8,
    np.dtype(np.int16): i16,
    np.dtype(np.uint16): ui16,
    np.dtype(np.int32): i32,
    np.dtype(np.uint32): ui32,
    np.dtype(np.int64): i64,
    np.dtype(np.uint64): ui64,
    np.dtype(np.bool_): i1,
}


class NodeError(Exception):
    """A node cannot be imported. The message gives the reason; the importer adds the node."""

    def __init__(self, message: str, needs: SSAValue | None = None):
        super().__init__(message)
        self.needs = needs
        """The value that must be known at import, if that is the reason."""


class AlreadyReported(Exception):
    """A node cannot be imported for a reason that has been reported already."""


def check_size(shape: Sequence[int], dtype: Dtype) -> None:
    """Raises NodeError if a tensor, or an array that it is computed from, exceeds the largest supported size."""
    if (problem := size_problem(shape, max(dtype.itemsize, 1))) is not None:
        raise NodeError(problem)


def check_indices(indices: Array, size: int) -> None:
    """Raises NodeError for an index out of range for an axis of this size; negative indices count from the end."""
    if np.any(indices < -size) or np.any(indices >= size):
        raise NodeError(f"an index is out of range for an axis of size {size}")


def check_steps(count: int, what: str) -> None:
    """Raises NodeError if an operator would be unrolled into more than `MOST_UNROLLED` parts, which `what` names."""
    if count > MOST_UNROLLED:
        raise NodeError(f"{count:,} {what} are not supported, at most {MOST_UNROLLED:,} are")


def element_type(dtype: Dtype) -> Attribute:
    """
    The IR's element type for a numpy dtype. Raises NodeError for types that the chip can neither compute with nor
    store.
    """
    try:
        return _ELEMENT_TYPES[HELD_IN.get(dtype, dtype)]
    except KeyError:
        raise NodeError(f"element type {dtype} is not supported") from None


def tensor_type(dtype: Dtype, shape: Sequence[int]) -> TensorType[Any]:
    """The tensor type of a value of this dtype and shape; for strings, the type of their bytes."""
    if is_string(dtype):
        return TensorType(ui8, [*shape, dtype.itemsize])
    return TensorType(element_type(dtype), list(shape))


def is_float(dtype: Dtype) -> bool:
    """Whether this is a float type (bfloat16 and 8-bit floats included, which numpy does not count)."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def is_integer(dtype: Dtype) -> bool:
    """Whether this is an integer type (not bool)."""
    return np.issubdtype(dtype, np.integer) or (dtype.kind == "V" and "int" in dtype.name)


def is_string(dtype: Dtype) -> bool:
    """Whether the elements are strings: see strings.py."""
    return dtype.kind == "S"


@dataclass(eq=False)
class Tensor:
    """A value during import: `array` if it is known, else `value`; both if a known value has been materialised."""

    shape: Shape
    dtype: Dtype
    array: Array | None = None
    value: SSAValue | None = None
    name: str = ""
    """Name for the IR: the ONNX name, where there is one."""
    convolution: Convolution | None = None
    """The convolution that computed this tensor, for operators that fold into its weights."""
    quantised: Quantised | None = None
    """The quantised form, for operators that can compute with integers."""
    sums: Sums | None = None
    """The integer sums of products whose scaling gave this tensor."""
    parts: tuple[int, tuple[Tensor, ...]] | None = None
    """If the tensor is a concatenation: the axis and the operands."""
    quantised_from: tuple[Tensor, Tensor, int] | None = None
    """If the tensor is the int8 result of a quantisation: the operand, scale and zero point of the quantisation."""
    finite: FiniteValues | None = None
    """The values that elements can have, if the tensor is computed from 8-bit integers."""
    signed: Tensor | None = None
    """For uint8: the same values minus 128 as int8, if these have been computed."""
    rows: Tensor | None = None
    """The number of rows along the first axis, if it is known at run time only; the remaining rows are 0."""

    def __post_init__(self) -> None:
        check_size(self.shape, self.dtype)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        """Whether the elements are floats."""
        return is_float(self.dtype)

    def axis(self, axis: int, rank: int | None = None) -> int:
        """The non-negative number of an axis that may count from the end. Raises NodeError if it is out of range."""
        rank = self.rank if rank is None else rank
        if not -rank <= axis < max(rank, 1):
            raise NodeError(f"axis {axis} is out of range for a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis


@dataclass(eq=False)
class TensorSequence(Tensor):
    """A sequence of ONNX, which exists during import only: its tensors, by position."""

    items: tuple[Tensor, ...] = ()

    @staticmethod
    def of(items: Sequence[Tensor]) -> TensorSequence:
        """The sequence of these tensors."""
        return TensorSequence((), FLOAT32, items=tuple(items))


@dataclass(eq=False)
class Absent(Tensor):
    """An optional of ONNX without a value, which exists during import only."""

    @staticmethod
    def new() -> Absent:
        """A new optional without a value."""
        return Absent((), FLOAT32)


def known(array: Any, dtype: Any = None, name: str = "") -> Tensor:
    """A tensor whose elements are known at import."""
    array = np.asarray(array, dtype)
    return Tensor(array.shape, array.dtype, array, name=name)


def broadcast(*shapes: Sequence[int]) -> Shape:
    """The shape to which numpy's rules broadcast these shapes. Raises NodeError if they are not compatible."""
    try:
        return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
    except ValueError:
        raise NodeError("shapes " + " and ".join(str(list(shape)) for shape in shapes) + " do not broadcast") from None
