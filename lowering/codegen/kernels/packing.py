"""
Conversions to and from bytes of a narrower format: for narrow floats one cast, with the bytes viewed as elements of
that format; for a plug-in's format the instructions of the plug-in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....dialects.coreasm.encoding import TYPE_BY_NAME
from ....dialects.memory.packing import PackingOp, PackOp
from ....support.errors import MeshloomError
from ..emitter import Emitter
from ..view import View
from .common import Tile

Conversion: TypeAlias = Callable[[Emitter, View, View], None]
"""Emits the instructions that convert elements: the second from the third; bytes are [..., nbytes] of u8."""
CONVERSIONS: dict[str, tuple[Conversion, Conversion]] = {}
"""For plug-ins' formats: functions that pack and unpack a tile."""


def select_packing(op: PackingOp, tile: Tile) -> None:
    """Narrow floats have the names of the instruction set's types."""
    (source,) = tile.views
    if op.format.name in CONVERSIONS:
        pack, unpack = CONVERSIONS[op.format.name]
        (pack if isinstance(op, PackOp) else unpack)(tile.emitter, tile.out, source)
        return
    code = TYPE_BY_NAME[op.format.name].code
    if isinstance(op, PackOp):
        tile.emitter.unary("mov", elements_of(tile.out, code), source)
    else:
        tile.emitter.unary("mov", tile.out, elements_of(source, code))


def elements_of(view: View, code: int) -> View:
    """Bytes as elements of type `code`. Raises MeshloomError if the bytes of an element are not contiguous."""
    if view.shape[-1] > 1 and view.strides[-1] != 1:
        raise MeshloomError("the bytes of an element are not contiguous: no instruction reads them as one element")
    return View(view.space, view.address, code, view.shape[:-1], view.strides[:-1])
