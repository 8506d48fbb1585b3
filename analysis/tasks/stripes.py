"""
Stripes: the rows of operands that a range of rows of a value depends on, through a chain of operators. A *stripe* is
the part of a value between two positions along one of its dimensions. Backwards from a result, each operator is
queried, by the tiling interface alone, for the stripe of its operands that a stripe of its result needs; if windows
overlap, neighbouring stripes of the operands overlap as well (a halo, which is computed twice).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from ...dialects.dataflow.tiling import Box, DimKind, TilingInterface
from ...dialects.dataflow.types import shape_of


class Stripe(NamedTuple):
    """Positions `low` to `high` (exclusive) of a value along a dimension, and all positions of the other dimensions."""

    axis: int
    low: int
    high: int

    def box(self, shape: Sequence[int]) -> Box:
        """The stripe of a value of this shape."""
        return Box.whole(shape).along(self.axis, self.low, self.high - self.low)

    def elements(self, shape: Sequence[int]) -> int:
        """Elements of the stripe of a value of this shape."""
        return math.prod(shape) // shape[self.axis] * (self.high - self.low)

    def joined(self, other: Stripe) -> Stripe:
        """The smallest stripe that holds both, which are along the same dimension."""
        return Stripe(self.axis, min(self.low, other.low), max(self.high, other.high))


def tile_of(op: TilingInterface, stripe: Stripe) -> Box | None:
    """The tile that computes a stripe of an operator's result; None if its dimensions cannot be cut in this way."""
    space = op.iteration_space()
    whole = Box.whole([dim.size for dim in space])
    shape = shape_of(op.results[0])
    wanted = stripe.box(shape)
    for number, dim in enumerate(space):
        if dim.kind in (DimKind.PARALLEL, DimKind.WINDOW) and dim.size == shape[stripe.axis]:
            tile = whole.along(number, stripe.low, stripe.high - stripe.low)
            if op.result_box(tile) == wanted:
                return tile
    return None


def operand_stripes(op: TilingInterface, tile: Box) -> list[Stripe | None]:
    """
    The stripe that a tile reads of each operand; None if it reads all of it, or a part that is not a stripe. An operand
    that is not read (for a tile of padding) has an empty stripe.
    """
    return [_stripe(op, index, value, tile) for index, value in enumerate(op.operands)]


def _stripe(op: TilingInterface, index: int, value: SSAValue, tile: Box) -> Stripe | None:
    part = op.operand_slice(index, tile)
    shape = shape_of(value)
    if part.indexed or not (part.exact or part.box.volume == tile.volume):
        return None
    bounds = part.bounds
    cut = [axis for axis, size in enumerate(shape) if bounds.sizes[axis] != size]
    if len(cut) != 1:
        return None
    (axis,) = cut
    low = min(max(bounds.offsets[axis], 0), shape[axis])
    return Stripe(axis, low, low + bounds.sizes[axis])


def stripes_of(
    operators: Sequence[Operation], end: SSAValue, stripe: Stripe
) -> tuple[dict[SSAValue, Stripe], dict[TilingInterface, Box]] | None:
    """
    The stripes of all values that some operators, the last of which computes `end`, need for a stripe of it, and the
    tile of each operator involved, the last one first. Values from outside that are needed in part are among the
    stripes. None if an operator cannot be cut, or needs all of another one's result.
    """
    inside = set(operators)
    needed = {end: stripe}
    tiles: dict[TilingInterface, Box] = {}
    for op in reversed(operators):
        if not op.results or op.results[0] not in needed:
            continue
        tile = tile_of(op, needed[op.results[0]]) if isinstance(op, TilingInterface) else None
        if tile is None or not isinstance(op, TilingInterface):
            return None
        tiles[op] = tile
        for value, read in zip(op.operands, operand_stripes(op, tile), strict=True):
            if not add_need(needed, value, read) and value.owner in inside:
                return None
    return needed, tiles


def add_need(needed: dict[SSAValue, Stripe], value: SSAValue, read: Stripe | None) -> bool:
    """
    Add the part of a value that is read to the part that is needed. Returns False if the part is not a stripe, or is
    along another dimension.
    """
    if read is not None and read.low == read.high:
        return True
    known = needed.get(value)
    if read is None or (known is not None and known.axis != read.axis):
        return False
    needed[value] = read if known is None else known.joined(read)
    return True
