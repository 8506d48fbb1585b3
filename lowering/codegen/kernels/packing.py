"""Conversions to and from bytes of a narrower format: one cast each, with the bytes seen as elements of that format."""

from __future__ import annotations

from ....dialects.coreasm.encoding import TYPE_BY_NAME
from ....dialects.memory.packing import PackingOp, PackOp
from ....support.errors import MeshloomError
from ..view import View
from .common import Tile


def select_packing(op: PackingOp, tile: Tile) -> None:
    """The formats have the names of the instruction set's types."""
    code, (source,) = TYPE_BY_NAME[op.format.value].code, tile.views
    if isinstance(op, PackOp):
        tile.emitter.unary("mov", _elements(tile.out, code), source)
    else:
        tile.emitter.unary("mov", tile.out, _elements(source, code))


def _elements(view: View, code: int) -> View:
    """Bytes as elements of type `code`. Raises MeshloomError if the bytes of an element are not contiguous."""
    if view.shape[-1] > 1 and view.strides[-1] != 1:
        raise MeshloomError("the bytes of an element lie apart: no instruction takes them together")
    return View(view.space, view.address, code, view.shape[:-1], view.strides[:-1])
