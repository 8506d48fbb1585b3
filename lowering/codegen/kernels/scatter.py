"""Scatters: a copy of the data to the result, then the updates, batch by batch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ....dialects.dataflow.scatter import ScatterOp
from ..view import View
from .common import Tile


def select_scatter(op: ScatterOp, tile: Tile) -> None:
    """A copy, and a scatter of the data access unit for each position of the batch dimensions."""
    out, (data, indices, updates) = tile.out, tile.views
    tile.emitter.copy(out, data)
    batch = op.batch_dims
    for index in itertools.product(*(range(size) for size in out.shape[:batch])):
        rows, places, values = (_at(view, index) for view in (out, indices, updates))
        tile.emitter.scatter(op.mode.data.value, rows, values, places)


def _at(view: View, index: Sequence[int]) -> View:
    """The part of a view at a position of its leading dimensions."""
    batch = len(index)
    part = view.box((*index, *(0,) * (len(view.shape) - batch)), (*(1,) * batch, *view.shape[batch:]))
    return part.permute(range(batch, len(view.shape)))
