"""
Element types of contractions: the type of the result, which operand is widened to the type of the other one, and pairs
of 4-bit integers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ....formats.pairs import pairs_along
from ..base import TiledOp, Value
from ..tiling import split_blocks, split_evenly
from ..types import Tensor, accumulator_type, element_bytes, element_of, is_bool, is_float, is_pair, tensor, ui8


def contraction_element(lhs: Value, rhs: Value) -> Attribute:
    """
    Element type of a product's result: the operands' type for floats, i32 for 8-bit and 16-bit integers.

    Raises VerifyException for operands of different types, unless one is narrower and is widened to the type of the
    other (`narrow_operand`).
    """
    a, b = element_of(lhs), element_of(rhs)
    if is_bool(a) or is_bool(b):
        raise VerifyException("operands have element type i1: expected float or integer")
    narrow = narrow_operand(lhs, rhs)
    if narrow is None and (a != b or is_pair(a)):
        raise VerifyException(
            f"operands have element types {a} and {b}: expected equal ones, a float and an integer of 8 bits, or one of"
            " these and pairs of 4 bits"
        )
    return accumulator_type(b if narrow == 0 else a)


def narrow_operand(lhs: Value, rhs: Value) -> int | None:
    """
    The operand of a product, 0 or 1, that is widened to the type of the other one: 8-bit integers with floats, pairs of
    4-bit integers with floats or i8. None for other types.
    """
    a, b = element_of(lhs), element_of(rhs)
    return 1 if _widens(b, a) else 0 if _widens(a, b) else None


def _widens(narrow: Attribute, wide: Attribute) -> bool:
    return (is_float(wide) and (narrow in (i8, ui8) or is_pair(narrow))) or (wide == i8 and is_pair(narrow))


def narrow_pairs(op: TiledOp) -> int | None:
    """The operand of a contraction, 0 or 1, that has pairs of 4-bit integers; None if neither has."""
    narrow = narrow_operand(*op.operands[:2])
    return narrow if narrow is not None and held_in(op.operands[narrow]) == 2 else None


def pairs_of_slice(offset: int, size: int) -> tuple[int, int]:
    """(First, number) of the pairs that contain the `size` integers from `offset` on."""
    first = offset // 2
    return first, pairs_along(offset + size) - first if size else 0


def cuts_pairs(size: int, parts: int) -> bool:
    """Whether cutting `size` integers into `parts`, evenly or in blocks of equal size, splits a pair."""
    ranges = (*split_evenly(size, parts), *split_blocks(size, parts))
    return any(low % 2 and extent for low, extent in ranges)


def widened(inferred: Tensor, actual: Tensor) -> Tensor:
    """The inferred type, or the same with f32 elements if `actual` has them and the product is of narrow floats."""
    if is_float(inferred.element_type) and actual.element_type == f32 and inferred.element_type != f32:
        if element_bytes(inferred.element_type) < 4:
            return tensor(f32, inferred.get_shape())
    return inferred


def held_in(value: Value) -> int:
    """Number of integers in each element of a value: 2 for pairs, else 1."""
    return 2 if is_pair(element_of(value)) else 1


def held_as(value: Value, size: int) -> int:
    """The size of a value's axis that has `size` integers (or floats): half of it, rounded up, for pairs."""
    return pairs_along(size) if held_in(value) == 2 else size
