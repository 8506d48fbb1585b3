"""
The tiling interface: how an operation may be cut into tiles.

An operation has an *iteration space*: one dimension for everything that its loops run over, the reduced dimensions
included. A *tile* is a box in that space. The interface says what of each operand a tile reads, where its result goes,
and how to build the same operation on such a tile. Splitting, tiling, cost and communication use nothing else, so none
of them knows operations by name.

For every tile that keeps `WHOLE` and `SEQUENTIAL` dimensions whole:

    operands = [materialise(slice) for slice in operand slices]      # with padding filled in
    result[result_box(tile)] (combine)= build_tile(tile, operands)

gives the result of the whole operation, where `combine` is only needed when `REDUCTION` dimensions are split.
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
    """What cutting a dimension of the iteration space means."""

    PARALLEL = "parallel"
    """Tiles are independent and read disjoint (or shared) parts of the operands."""
    REDUCTION = "reduction"
    """Tiles give partial results of the same elements, joined by `combine` (not to be cut where that is None)."""
    WINDOW = "window"
    """Parallel, but neighbouring tiles read overlapping parts (a halo)."""
    SEQUENTIAL = "sequential"
    """Each position needs the one before: not to be cut into independent tiles."""
    WHOLE = "whole"
    """Not to be cut."""


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
        # Planning makes hundreds of thousands of boxes: in half the time of what a frozen dataclass generates.
        self.__dict__["offsets"] = offsets
        self.__dict__["sizes"] = sizes

    @staticmethod
    def whole(sizes: Sequence[int]) -> Box:
        """The box of everything in a space of these sizes."""
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
        """The box that is another one along one dimension."""
        offsets, sizes = [*self.offsets], [*self.sizes]
        offsets[axis], sizes[axis] = offset, size
        return Box(tuple(offsets), tuple(sizes))

    def intersect(self, other: Box) -> Box:
        """What both boxes hold; empty dimensions have size 0."""
        offsets = tuple(map(max, self.offsets, other.offsets))
        ends = tuple(map(min, self.ends, other.ends))
        return Box(offsets, tuple(max(0, end - offset) for offset, end in zip(offsets, ends, strict=True)))


@dataclass(frozen=True)
class OperandSlice:
    """
    What a tile reads of one operand.

    The slice takes `box.sizes[d]` elements along dimension d, at `box.offsets[d] + i * steps[d]`, and stands between
    `pad_low[d]` and `pad_high[d]` positions of `pad_value`. The materialised operand has shape `shape`.
    """

    box: Box
    """Elements inside the operand. With a step other than 1, the offset is the first element and the size counts the
    elements taken; `bounds` is the range they lie in. Where nothing lies inside, the offset is still `pad_low` after
    the first position, and may be outside."""
    pad_low: tuple[int, ...]
    """Positions before the operand's first element that the tile reads."""
    pad_high: tuple[int, ...]
    """Positions after the operand's last element that the tile reads."""
    pad_value: float | int = 0
    """What the positions outside hold; an integer for integer and bool operands."""
    steps: tuple[int, ...] = field(default=())
    """Distance between neighbouring elements; negative where the slice runs backwards."""
    indexed: bool = False
    """True: which rows are read depends on data; the box is the range of everything that may be read."""
    exact: bool = True
    """False: the box is the smallest one around what is read, and holds more (only `dataflow.reshape`)."""

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
        # As for `Box`: there are many.
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
        """The box that all elements lie in, steps taken into account."""
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
    """Matrix products of dense neurons with encoded weights. Numbers are of one product, averages where they differ."""

    products: int
    """How many there are."""
    rows: int
    """Vectors of neurons."""
    fibers: int
    """Output neurons."""
    fullest: float
    """Stored weights of the fullest lane of the matrix unit."""
    loads: float
    """Times that it loads weights."""
    looked_at: float
    """Positions of a direct index, or entries of a stride index; bits, or codes, of a plug-in's."""
    direct: bool
    weight_bytes: int
    neuron_bytes: int
    """Of the neurons that come in or go out, whichever are more."""
    inputs: int
    """Neurons of a row."""
    stored: float
    """Stored weights of all output neurons."""
    nonzero: Nonzero = ALL_NONZERO
    """Which share of the neurons is expected not to be zero; the others may be left out."""
    lines: int = 0
    """In how many lines of places the rows lie; 0 where that is not known."""


@dataclass(frozen=True)
class OpCost:
    """Work of one tile, before any property of a chip comes in."""

    unit: Unit
    """The unit that does the main work."""
    macs: int
    """Multiply-accumulates."""
    vpu_ops: int
    """Element operations of a vector unit; functions that take four passes there count as four."""
    count_bytes: Callable[[], int]
    """Counts `bytes_moved`, which few ask for."""
    matmul: tuple[int, int, int, int] | None = None
    """(batch, M, K, N) of the matrix products that a matrix unit does, where it does the work."""
    window: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Of the first operand, what M and what K are made of where these are several dimensions that lie apart."""
    encoded: EncodedWork | None = None
    """The same work where the weights are encoded."""
    nonzero: Nonzero = ALL_NONZERO
    """Which share of the first operand's elements is expected not to be zero; the others may be left out."""
    item_bytes: int | None = None
    """Of an element that is multiplied, where that is no element of the first operand."""
    widened: tuple[int, int] | None = None
    """Elements of an operand that the vector unit first brings to the type of the other one, and their bytes then."""
    in_two_sums: bool = False
    """
    Whether the matrix and the vector unit may share the terms of a product of one row: there is memory for the sum of
    one of them (`scratch_bytes`).
    """
    groups: tuple[int, int, int, int] | None = None
    """(groups, M, K, N) of the products of a depthwise convolution, which the matrix and the vector unit may share."""
    mapped: tuple[int, int] | None = None
    """
    Of a mapping unit: elements that its encoder looks at, and the bytes of the largest operand. Estimates count it as
    the data access unit.
    """

    @cached_property
    def bytes_moved(self) -> int:
        """Bytes of all operand slices and of the result."""
        return self.count_bytes()


def split_evenly(size: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """
    Cut [0, size) into `parts` ranges (offset, size) as even as multiples of `multiple`, which divides `size`, can be;
    the last is as large as any. Some are empty where parts > size / multiple.
    """
    cuts = [part * (size // multiple) // parts * multiple for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(cuts)]


def split_blocks(size: int, parts: int) -> list[tuple[int, int]]:
    """
    Cut [0, size) into `parts` ranges (offset, size) of equal size, but for the last ones: smaller, then empty.

    Steps in time are cut so: equal steps become loops.
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
        """What the tile reads of operand `index`."""

    @abc.abstractmethod
    def result_box(self, tile: Box) -> Box:
        """Which part of the result the tile gives (in full, or a partial value where reductions are split)."""

    @abc.abstractmethod
    def build_tile(self, tile: Box, operands: Sequence[SSAValue]) -> Sequence[Operation]:
        """
        Detached operations that compute the tile.

        `operands` are the materialised slices (shape `OperandSlice.shape`, padding already in them). The last
        operation's result is the tile, or the partial result where reductions are split.
        """

    @property
    def combine(self) -> Combine | None:
        """How partial results of split reduction dimensions are joined; None: these may not be split."""
        return None

    def largest_slice(self, index: int, tile: Box) -> tuple[int, ...]:
        """Shape of the largest slice of an operand, padding included, that tiles of this size read anywhere."""
        return self.operand_slice(index, tile).shape

    def scratch_bytes(self, tile: Box) -> int:
        """Bytes of memory beside operands and result that instructions need for any tile of this size."""
        del tile
        return 0

    def filled(self, index: int) -> float:
        """What tiles read of an operand in the mean, as a share of the largest slice."""
        del index
        return 1.0

    def largest_result(self, tile: Box) -> tuple[int, ...]:
        """Sizes of the largest part of the result that tiles of this size give anywhere."""
        return self.result_box(tile).sizes

    def may_split(self, dim: int, parts: int) -> bool:
        """Whether cutting dimension `dim` evenly into `parts` gives tiles that read nothing needlessly twice."""
        del dim, parts
        return True

    @abc.abstractmethod
    def preferred_dims(self) -> tuple[int, ...]:
        """Dimensions worth cutting, best first; those whose cutting reassociates sums come last."""

    @abc.abstractmethod
    def cost(self, tile: Box) -> OpCost:
        """Operations and bytes of one tile."""
