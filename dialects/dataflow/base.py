"""Base classes of `dataflow` operations: checks of result types, folding; and helpers for tiles and attributes."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import lru_cache
from struct import unpack
from typing import Any, ClassVar, TypeAlias

from numpy.typing import NDArray
from xdsl.dialects.builtin import I64, DenseArrayBase, Float64Type, IntegerAttr, f64, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero
from .. import value_names as value_names
from .tiling import Box, OpCost, OperandSlice, TilingInterface, Unit
from .types import Shape, Tensor, element_bytes, is_pair, shape_of, tensor_of, verify_tensor

Ints: TypeAlias = DenseArrayBase[I64]
"""A list of 64-bit integers as an attribute, printed `[1, 2]`."""
Shares: TypeAlias = DenseArrayBase[Float64Type]
"""Shares of nonzero elements as an attribute, printed `[5.000000e-01]`."""
Value: TypeAlias = SSAValue | Operation


def ints(attribute: Ints) -> tuple[int, ...]:
    """The Python integers of a list attribute."""
    return _unpacked(attribute.data.data)


@lru_cache(maxsize=1 << 14)
def _unpacked(data: bytes) -> tuple[int, ...]:
    """
    The 64-bit integers in little-endian bytes. Cached: a network has few different lists, which are read very often.
    """
    return unpack(f"<{len(data) // 8}q", data)


def int_list(values: Sequence[int]) -> Ints:
    """The list attribute of these integers."""
    return DenseArrayBase.from_list(i64, list(values))


def int_attr(value: int) -> IntegerAttr[I64]:
    """A 64-bit integer attribute."""
    return IntegerAttr(value, i64)


def shares_attr(nonzero: Nonzero | None) -> Shares | None:
    """The attribute of expected shares of nonzero elements; None for None."""
    return None if nonzero is None else DenseArrayBase.from_list(f64, nonzero.numbers)


def nonzero_of(shares: Shares | None) -> Nonzero:
    """The expected shares of nonzero elements in an attribute; `ALL_NONZERO` for None."""
    return ALL_NONZERO if shares is None else Nonzero.from_numbers(shares.get_values())


def verify_shares(name: str, shares: Shares | None) -> None:
    """Check that shares, if given, are valid for `Nonzero`. Raises VerifyException."""
    try:
        nonzero_of(shares)
    except ValueError as error:
        raise VerifyException(f"{name} = {error}") from error


def verify_list(name: str, values: Sequence[int], length: int, of: str, at_least: int | None = None) -> None:
    """Check the length of a list attribute and, if given, a lower bound of its entries. Raises VerifyException."""
    if len(values) != length:
        raise VerifyException(f"{name} = {list(values)} should have {length} entries, one for each {of}")
    if at_least is not None and any(value < at_least for value in values):
        raise VerifyException(f"{name} = {list(values)} should be at least {at_least} everywhere")


class DataflowOp(IRDLOperation, HasFolderInterface, HasCanonicalizationPatternsInterface, abc.ABC):
    """
    An operation on whole tensors with one result and no side effects.

    Subclasses implement `expected_type`, which both the constructor and the verifier use.
    """

    traits = traits_def(Pure())
    TAKES_PAIRS: ClassVar[bool] = False
    """Whether values may be pairs of 4-bit integers."""

    @abc.abstractmethod
    def expected_type(self) -> Tensor:
        """The result type, inferred from operands and attributes; raises VerifyException if they are inconsistent."""

    def verify_(self) -> None:
        for position, value in enumerate(self.operands):
            type = verify_tensor(value.type, f"operand {position}")
            if is_pair(type.element_type) and not self.TAKES_PAIRS:
                raise VerifyException(f"operand {position} has type {type}: only contractions and slices accept pairs")
        actual = verify_tensor(self.results[0].type, "result")
        expected = self.expected_type()
        if actual != expected:
            raise VerifyException(f"result has type {actual}: expected {expected}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        from .folding import fold

        return fold(self)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalization import patterns_of

        return patterns_of(cls)


class ComputedOp(DataflowOp, abc.ABC):
    """
    An operation on tensors, of this dialect or another one, that implements its own reference semantics (`compute`).
    """

    @abc.abstractmethod
    def compute(self, operands: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """
        The result for operand values in storage form. Operands and results of elementwise operations are in computing
        form instead: bf16 as f32.
        """


class TiledOp(DataflowOp, TilingInterface, abc.ABC):
    """A `dataflow` operation with helpers for implementations of the tiling interface."""

    @property
    def result_type(self) -> Tensor:
        """Type of the only result."""
        return tensor_of(self.results[0])

    @property
    def result_shape(self) -> Shape:
        """Shape of the only result."""
        return shape_of(self.results[0])

    def operand_shape(self, index: int) -> Shape:
        """Shape of an operand."""
        return shape_of(self.operands[index])

    def result_box(self, tile: Box) -> Box:
        return tile

    def preferred_dims(self) -> tuple[int, ...]:
        space = self.iteration_space()
        return tuple(dim for dim, one in enumerate(space) if one.size > 1 and one.kind in ("parallel", "window"))

    def bytes_of_tile(self, tile: Box) -> int:
        """Bytes of all operand slices (without padding) and of the result."""
        total = self.result_box(tile).volume * element_bytes(self.result_type.element_type)
        for index, value in enumerate(self.operands):
            total += self.operand_slice(index, tile).box.volume * element_bytes(tensor_of(value).element_type)
        return total

    def cost_on(
        self,
        unit: Unit,
        tile: Box,
        *,
        macs: int = 0,
        vpu_ops: int = 0,
        matmul: tuple[int, int, int, int] | None = None,
    ) -> OpCost:
        """The cost of a tile; its bytes are counted from the operand slices and the result."""
        return OpCost(unit, macs, vpu_ops, lambda: self.bytes_of_tile(tile), matmul)

    def cost(self, tile: Box) -> OpCost:
        return self.cost_on("DAU", tile)


def broadcast_slice(operand_shape: Shape, tile: Box) -> OperandSlice:
    """The part of an operand that a tile reads, if numpy's rules broadcast the operand to the tile's space."""
    skipped = tile.rank - len(operand_shape)
    if not skipped and 1 not in operand_shape:
        return OperandSlice.of(tile)
    offsets = tuple(0 if size == 1 else tile.offsets[skipped + dim] for dim, size in enumerate(operand_shape))
    sizes = tuple(
        min(1, tile.sizes[skipped + dim]) if size == 1 else tile.sizes[skipped + dim]
        for dim, size in enumerate(operand_shape)
    )
    return OperandSlice.of(Box(offsets, sizes))


def padded_range(start: int, length: int, size: int) -> tuple[int, int, int, int]:
    """
    Clip the positions [start, start + length) to an operand of this size.

    Returns (offset, size, low, high): the range inside the operand and the numbers of positions before and after it.
    Always offset - low = start: if no position is inside, all positions count as before, and offset may be outside as
    well.
    """
    low_end = min(max(start, 0), size)
    high_end = min(max(start + length, 0), size)
    inside = max(0, high_end - low_end)
    if inside == 0:
        return start + length, 0, length, 0
    return low_end, inside, low_end - start, start + length - high_end
