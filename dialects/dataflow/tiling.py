"""
The tiling interface: it describes how an operation can be cut into tiles.

An operation has an *iteration space*: one dimension for each loop over its elements, including the reduced dimensions.
A *tile* is a box in that space. The interface gives the part of each operand that a tile reads, the part of the result
that it computes, and the operation that computes such a tile. Splitting, tiling, cost and communication use this
interface only, so they are independent of individual operations.

For every tile in which `WHOLE` and `SEQUENTIAL` dimensions are not cut,

    operands = [materialise(slice) for slice in operand slices]      # with padding filled in
    result[result_box(tile)] (combine)= build_tile(tile, operands)

computes the result of the whole operation; `combine` is only needed if `REDUCTION` dimensions are split.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Literal

from xdsl.ir import Operation, SSAValue

from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero


class DimKind(StrEnum):
    """The kind of a dimension of an iteration space, which determines the effect of cutting it."""

    PARALLEL = "parallel"
    """Tiles are independent and read disjoint (or shared) parts of the operands."""
    REDUCTION = "reduction"
    """Tiles compute partial results of the same elements, combined by `combine`; it cannot be cut if that is None."""
    WINDOW = "window"
    """Parallel, but neighbouring tiles read overlapping parts of the operand (a halo)."""
    SEQUENTIAL = "sequential"
    """Each position depends on the one before: it cannot be cut into independent tiles."""
    WHOLE = "whole"
    """It cannot be cut."""


Combine = Literal["add", "max", "min", "mul"]
Unit = Literal["MPU", "VPU", "DAU"]


@dataclass(frozen=True)
class IterDim:
    """One dimension of an iteration space."""

    size: int
    kind: DimKind


@dataclass(frozen=True)
class Box:
    """A box of positions: `offsets[d] <= index[d] < offsets[d] + sizes[d]`. Sizes may be 0 (an empty box)."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    def __init__(self, offsets: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        # Planning creates hundreds of thousands of boxes; this takes half the time of a frozen dataclass's constructor.
        self.__dict__["offsets"] = offsets
        self.__dict__["sizes"] = sizes

    @staticmethod
    def whole(sizes: Sequence[int]) -> Box:
        """The box that covers a space of these sizes."""
        return Box((0,) * len(sizes), tuple(sizes))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    @property
    def volume(self) -> int:
        """Number of positions."""
        return math.prod(self.sizes)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """One past the last position in each dimension."""
        return tuple(offset + size for offset, size in zip(self.offsets, self.sizes, strict=True))

    def along(self, axis: int, offset: int, size: int) -> Box:
        """The box with another offset and size along one dimension."""
        offsets, sizes = [*self.offsets], [*self.sizes]
        offsets[axis], sizes[axis] = offset, size
        return Box(tuple(offsets), tuple(sizes))

    def intersect(self, other: Box) -> Box:
        """The intersection of both boxes; empty dimensions have size 0."""
        offsets = tuple(map(max, self.offsets, other.offsets))
        ends = tuple(map(min, self.ends, other.ends))
        return Box(offsets, tuple(max(0, end - offset) for offset, end in zip(offsets, ends, strict=True)))


@dataclass(frozen=True)
class OperandSlice:
    """
    The part of an operand that a tile reads.

    The slice has `box.sizes[d]` elements along dimension d, at `box.offsets[d] + i * steps[d]`, with `pad_low[d]`
    positions of `pad_value` before them and `pad_high[d]` after them. The materialised operand has shape `shape`.
    """

    box: Box
    """
    Elements inside the operand. With a step other than 1, the offset is the index of the first element and the size is
    the number of elements; `bounds` is the range that contains them. If no element is inside, the offset is still
    `pad_low` after the first position, and may be outside.
    """
    pad_low: tuple[int, ...]
    """Positions before the operand's first element that the tile reads."""
    pad_high: tuple[int, ...]
    """Positions after the operand's last element that the tile reads."""
    pad_value: float | int = 0
    """The value of positions outside the operand; an integer for integer and bool operands."""
    steps: tuple[int, ...] = field(default=())
    """Distance between neighbouring elements in each dimension; negative for a reversed slice."""
    indexed: bool = False
    """True: the rows that are read depend on data; the box is the range of all that may be read."""
    exact: bool = True
    """False: the box is the smallest one that contains what is read, and contains more (only `dataflow.reshape`)."""

    def __init__(
        self,
        box: Box,
        pad_low: tuple[int, ...],
        pad_high: tuple[int, ...],
        pad_value: float = 0,
        steps: tuple[int, ...] = (),
        indexed: bool = False,
        exact: bool = True,
    ) -> None:
        # As for `Box`: faster than a frozen dataclass's constructor.
        known = self.__dict__
        known["box"], known["pad_low"], known["pad_high"], known["pad_value"] = box, pad_low, pad_high, pad_value
        known["steps"], known["indexed"], known["exact"] = steps or (1,) * box.rank, indexed, exact

    @staticmethod
    def of(box: Box, *, indexed: bool = False, exact: bool = True) -> OperandSlice:
        """A slice without padding and steps."""
        zeros = (0,) * box.rank
        return OperandSlice(box, zeros, zeros, indexed=indexed, exact=exact)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the materialised operand, padding included."""
        return tuple(map(sum, zip(self.pad_low, self.box.sizes, self.pad_high, strict=True)))

    @cached_property
    def is_padded(self) -> bool:
        """Whether the tile reads positions outside the operand."""
        return any(self.pad_low) or any(self.pad_high)

    @cached_property
    def gathered_shape(self) -> tuple[int, ...]:
        """Shape of a buffer for everything between the first and the last element, padding included: steps are taken
        when it is read."""
        return tuple(map(sum, zip(self.pad_low, self.bounds.sizes, self.pad_high, strict=True)))

    @cached_property
    def bounds(self) -> Box:
        """The smallest box that contains all elements, with their steps."""
        if self.steps.count(1) == len(self.steps):
            return self.box
        offsets: list[int] = []
        sizes: list[int] = []
        for offset, size, step in zip(self.box.offsets, self.box.sizes, self.steps, strict=True):
            reach = (size - 1) * step if size else 0
            offsets.append(min(offset, offset + reach))
            sizes.append(abs(reach) + 1 if size else 0)
        return Box(tuple(offsets), tuple(sizes))


@dataclass(frozen=True)
class EncodedWork:
    """
    The work of matrix products of dense neurons with encoded weights. Numbers are for one product, averages if products
    differ.
    """

    products: int
    """Number of products."""
    rows: int
    """Number of rows, that is, of vectors of neurons."""
    fibers: int
    """Number of fibers, that is, of output neurons."""
    fullest: float
    """Number of stored weights of the lane of the matrix unit that has the most."""
    loads: float
    """Number of loads of weights to the matrix unit."""
    looked_at: float
    """Number of positions of a direct index, or of entries of a stride index; bits, or codes, of a plug-in's index."""
    direct: bool
    weight_bytes: int
    neuron_bytes: int
    """Bytes of the input neurons or of the output neurons, whichever are more."""
    inputs: int
    """Number of neurons in a row."""
    stored: float
    """Number of stored weights of all output neurons."""
    nonzero: Nonzero = ALL_NONZERO
    """The expected share of nonzero neurons; the others may be skipped."""
    lines: int = 0
    """Number of lines that the rows lie in; the last dimension of positions runs along a line. 0 if unknown."""


@dataclass(frozen=True)
class OpCost:
    """The work of one tile, independent of the chip."""

    unit: Unit
    """The unit that does the main work."""
    macs: int
    """Multiply-accumulates."""
    vpu_ops: int
    """Element operations of a vector unit; functions that take four passes count as four."""
    count_bytes: Callable[[], int]
    """Computes `bytes_moved`; it is called only when that is needed."""
    matmul: tuple[int, int, int, int] | None = None
    """(batch, M, K, N) of the matrix products, if the matrix unit does the work."""
    window: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """
    Sizes of the dimensions of the first operand that form M, and of those that form K, if they are not contiguous.
    """
    encoded: EncodedWork | None = None
    """The work with encoded weights."""
    nonzero: Nonzero = ALL_NONZERO
    """The expected share of nonzero elements of the first operand; the others may be skipped."""
    item_bytes: int | None = None
    """Bytes of an element that is multiplied, if it is not an element of the first operand."""
    widened: tuple[int, int] | None = None
    """(Elements, bytes after widening) of an operand that the vector unit first widens to the type of the other one."""
    in_two_sums: bool = False
    """
    Whether the terms of a product of one row may be divided between the matrix unit and the vector unit: there is
    memory for the sum of one of them (`scratch_bytes`).
    """
    groups: tuple[int, int, int, int] | None = None
    """
    (groups, M, K, N) of the products of a depthwise convolution, which may be divided between matrix and vector unit.
    """
    mapped: tuple[int, int] | None = None
    """
    (Elements that the encoder of the mapping unit examines, bytes of the largest operand). Estimates attribute this
    work to the data access unit.
    """

    @cached_property
    def bytes_moved(self) -> int:
        """Bytes of all operand slices and of the result."""
        return self.count_bytes()


def split_evenly(size: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """
    Cut [0, size) into `parts` ranges (offset, size), as even as possible for multiples of `multiple`, which divides
    `size`; no range is larger than the last. Some are empty if parts > size / multiple.
    """
    cuts = [part * (size // multiple) // parts * multiple for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(cuts)]


def split_blocks(size: int, parts: int) -> list[tuple[int, int]]:
    """
    Cut [0, size) into `parts` ranges (offset, size) of equal size, except for the last ones: smaller, then empty.

    Steps in time are cut in this way, because equal steps become loops.
    """
    block = -(-size // parts)
    return [(min(part * block, size), max(0, min(block, size - part * block))) for part in range(parts)]


class TilingInterface(Operation, abc.ABC):
    """Operations that can be cut into tiles (see the module's introduction)."""

    @abc.abstractmethod
    def iteration_space(self) -> tuple[IterDim, ...]:
        """Sizes and kinds of all dimensions that the operation runs over."""

    @abc.abstractmethod
    def operand_slice(self, index: int, tile: Box) -> OperandSlice:
        """The part of operand `index` that the tile reads."""

    @abc.abstractmethod
    def result_box(self, tile: Box) -> Box:
        """The part of the result that the tile computes (completely, or a partial value if reductions are split)."""

    @abc.abstractmethod
    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        """
        Build the detached operations that compute the tile.

        `operands` are the materialised slices (shape `OperandSlice.shape`, padding included). The last operation's
        result is the tile, or the partial result if reductions are split.
        """

    @property
    def combine(self) -> Combine | None:
        """The function that combines partial results of split reduction dimensions; None: these cannot be split."""
        return None

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        """Shape of the largest slice of an operand, padding included, that a tile of this size reads at any offset."""
        return self.operand_slice(index, tile).shape

    def scratch_bytes(self, tile: Box) -> int:
        """
        Bytes of memory, in addition to operands and result, that instructions need for a tile of this size at any
        offset.
        """
        del tile
        return 0

    def filled(self, index: int) -> float:
        """The average size of the slices of an operand, as a share of the largest slice."""
        del index
        return 1.0

    def largest_result(self, tile: Box) -> tuple[int, ...]:
        """Sizes of the largest part of the result that a tile of this size computes at any offset."""
        return self.result_box(tile).sizes

    def may_split(self, dim: int, parts: int) -> bool:
        """Whether cutting dimension `dim` evenly into `parts` gives tiles that read nothing twice without need."""
        del dim, parts
        return True

    @abc.abstractmethod
    def preferred_dims(self) -> tuple[int, ...]:
        """Dimensions that are worth cutting, best first; dimensions whose cutting reassociates sums come last."""

    @abc.abstractmethod
    def cost(self, tile: Box) -> OpCost:
        """The work of one tile."""
