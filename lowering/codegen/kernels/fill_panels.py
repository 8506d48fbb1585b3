"""Panels assembled from an index and values: a copy, and another copy or a gather."""

from __future__ import annotations

from ....dialects.sparse.fill_panels import FillPanelsOp
from ..view import View
from .common import Tile


def select_fill_panels(op: FillPanelsOp, tile: Tile) -> None:
    """The bytes of the index, then the values after it, as elements of their type."""
    out, (index, values, *rest) = tile.out, tile.views
    begin = index.shape[2]
    tile.emitter.copy(out.part(2, 0, begin), index)
    strides = (*out.strides[:2], values.item_bytes)
    shape = rest[0].shape if rest else values.shape
    target = View(out.space, out.address + begin * out.strides[2], values.dtype, shape, strides)
    if rest:
        tile.emitter.gather(target, values, rest[0])
    else:
        tile.emitter.copy(target, values)
