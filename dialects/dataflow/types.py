"""
Element types and shapes of `dataflow` values, and the inference of result types.

All tensors are ranked and static. The element types are those that the chip supports; `DTYPE_CODES` gives the number of
each in instructions and executables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...support.limits import size_problem

Tensor: TypeAlias = TensorType[Attribute]
Shape: TypeAlias = tuple[int, ...]

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)
ui32 = IntegerType(32, Signedness.UNSIGNED)
ui64 = IntegerType(64, Signedness.UNSIGNED)

i4_pair: Attribute = VectorType(IntegerType(4), [2])
ui4_pair: Attribute = VectorType(IntegerType(4, Signedness.UNSIGNED), [2])
"""
Two 4-bit integers in a byte, the first one in the low bits: neighbours along the axis that a contraction sums over. If
the number of integers is odd, the second one of the last pair is not read.
"""

DTYPE_CODES: dict[Attribute, int] = {
    f32: 0,
    f16: 1,
    bf16: 2,
    f64: 3,
    i8: 4,
    ui8: 5,
    i16: 6,
    ui16: 7,
    i32: 8,
    ui32: 9,
    i64: 10,
    ui64: 11,
    i1: 12,
    i4_pair: 4,
    ui4_pair: 5,
}
"""
Number of each element type in instructions and executables. Pairs of 4-bit integers are bytes there, signed if the
integers are signed.
"""

ELEMENT_TYPES: tuple[Attribute, ...] = tuple(DTYPE_CODES)[:13]
"""Element type by number."""

_BYTES = (4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1)


def is_float(element_type: Attribute) -> bool:
    """Whether this is one of f16, bf16, f32, f64."""
    return isinstance(element_type, Float16Type | BFloat16Type | Float32Type | Float64Type)


def is_pair(element_type: Attribute) -> bool:
    """Whether each element is two integers of 4 bits."""
    return element_type in (i4_pair, ui4_pair)


def is_bool(element_type: Attribute) -> bool:
    """Whether this is i1, the type of masks and predicates."""
    return element_type == i1


def is_integer(element_type: Attribute) -> bool:
    """Whether this is an integer type other than i1."""
    return isinstance(element_type, IntegerType) and element_type != i1


def integer_range(element_type: Attribute) -> tuple[int, int]:
    """Smallest and largest value of an integer type (i1: 0 and 1). Signless types count as signed, as numpy's do."""
    assert isinstance(element_type, IntegerType)
    type = cast("IntegerType[int, Signedness]", element_type)
    width = type.width.data
    if type.signedness.data == Signedness.UNSIGNED or width == 1:
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def largest_exact(element_type: Attribute) -> int:
    """The largest n such that the type represents every integer from 0 to n exactly."""
    if isinstance(element_type, IntegerType):
        return integer_range(cast(Attribute, element_type))[1]
    return {"f16": 1 << 11, "bf16": 1 << 8, "f32": 1 << 24}.get(str(element_type), 1 << 53)


def keeps_every_value(source: Attribute, target: Attribute) -> bool:
    """Whether the target type represents every value of the source type exactly (i1 counts as 0 and 1)."""
    if source == target:
        return True
    if is_bool(target):
        return False
    if is_float(source):
        wider = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",)}
        return str(target) in wider.get(str(source), ())
    low, high = integer_range(source)
    if is_float(target):
        return max(-low, high) <= largest_exact(target)
    target_low, target_high = integer_range(target)
    return target_low <= low and high <= target_high


def element_bytes(element_type: Attribute) -> int:
    """Bytes of one element in memory (i1 takes a whole byte)."""
    return _BYTES[DTYPE_CODES[element_type]]


def dtype_code(value: SSAValue | Attribute) -> int:
    """Number of the element type of a value, a tensor type or an element type itself."""
    attribute = value.type if isinstance(value, SSAValue) else value
    if isinstance(attribute, TensorType):
        attribute = cast(Tensor, attribute).element_type
    return DTYPE_CODES[attribute]


def tensor_of(value: SSAValue | Operation) -> Tensor:
    """
    The tensor type of a value.

    Raises VerifyException if the value is not a tensor; constructors and verifiers call this for their arguments.
    """
    # `isinstance` with a base class of the IR would take longer than all the rest.
    known = type(value) in _VALUES or isinstance(value, SSAValue)
    found = cast("SSAValue", value).type if known else SSAValue.get(value).type
    if not isinstance(found, TensorType):
        raise VerifyException(f"operand of type {found}: expected a tensor")
    return cast(Tensor, found)


_VALUES = (OpResult, BlockArgument)


_SHAPES: dict[int, tuple[Tensor, Shape]] = {}
"""A cache: identity of a type -> the type and its shape. Planning asks for the shapes of the same values very often."""
_MOST_SHAPES = 1 << 14


def shape_of(value: SSAValue | Operation) -> Shape:
    """The shape of a tensor value. Raises as `tensor_of`."""
    known = cast("SSAValue", value).type if type(value) in _VALUES else tensor_of(value)
    found = _SHAPES.get(id(known))
    if found is None or found[0] is not known:
        if len(_SHAPES) >= _MOST_SHAPES:
            _SHAPES.clear()
        tensor = tensor_of(value)
        found = _SHAPES[id(tensor)] = tensor, tuple(tensor.get_shape())
    return found[1]


def element_of(value: SSAValue | Operation) -> Attribute:
    """The element type of a tensor value."""
    return tensor_of(value).element_type


def tensor(element_type: Attribute, shape: Sequence[int]) -> Tensor:
    """The tensor type with this element type and shape."""
    return TensorType(element_type, list(shape))


def tensor_bytes(type: Tensor) -> int:
    """Bytes of a whole tensor."""
    return math.prod(type.get_shape()) * element_bytes(type.element_type)


def verify_tensor(type: Attribute, what: str) -> Tensor:
    """Check that a type is a static ranked tensor of a known element type, and return it."""
    if not isinstance(type, TensorType):
        raise VerifyException(f"{what} has type {type}: expected a ranked tensor")
    tensor_type = cast(Tensor, type)
    if any(size < 0 for size in tensor_type.get_shape()):
        raise VerifyException(f"{what} has type {type}: expected a static shape")
    if tensor_type.encoding != NoneAttr():
        raise VerifyException(f"{what} has type {type}: expected a tensor without encoding, see sparse.decode")
    if tensor_type.element_type not in DTYPE_CODES:
        raise VerifyException(
            f"{what} has element type {tensor_type.element_type}: expected one of "
            + ", ".join(str(known) for known in DTYPE_CODES)
        )
    if (problem := size_problem(tensor_type.get_shape(), element_bytes(tensor_type.element_type))) is not None:
        raise VerifyException(f"{what}: {problem}")
    return tensor_type


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """
    The shape that numpy's rules give for operands of these shapes.

    Raises VerifyException, which names the first two sizes that do not broadcast.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == result[dim]:
                continue
            if result[dim] != 1:
                listed = " and ".join(str(list(one)) for one in shapes)
                raise VerifyException(
                    f"shapes {listed} do not broadcast: sizes {result[dim]} and {size} meet in dimension {dim}"
                )
            result[dim] = size
    return tuple(result)


def normalise_axis(axis: int, rank: int) -> int:
    """The axis, counted from the front. Raises VerifyException if it is outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise VerifyException(f"axis = {axis} should be in [{-rank}, {rank}) for a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def accumulator_type(element_type: Attribute) -> Attribute:
    """Element type of a contraction's result: the operands' type for floats, i32 for 8-bit and 16-bit integers."""
    if element_type in (i8, ui8, i16, ui16):
        return i32
    return element_type


def window_output(size: int, window: int, stride: int, dilation: int, low: int, high: int) -> int:
    """Number of positions of a window along one dimension: floor((low + size + high - extent) / stride) + 1."""
    return (low + size + high - ((window - 1) * dilation + 1)) // stride + 1
