"""Conversions to and from bytes of a narrower format: one cast each, with the bytes seen as elements of that format."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.coreasm.encoding import TYPE_BY_NAME
from ...dialects.dataflow.tiling import Box
from ...dialects.memory.packing import PackingOp, PackOp
from ...support.errors import MeshloomError
from ..emitter import Emitter, Operand
from ..view import View
from .common import in_memory


def select_packing(
    op: PackingOp, tile: Box, out: View, operands: Sequence[Operand], accumulate: bool, emitter: Emitter
) -> None:
    """The formats have the names of the instruction set's types."""
    code, source = TYPE_BY_NAME[op.format.value].code, in_memory(operands[0])
    if isinstance(op, PackOp):
        emitter.unary("mov", _elements(out, code), source)
    else:
        emitter.unary("mov", out, _elements(source, code))


def _elements(view: View, code: int) -> View:
    """Bytes as elements of type `code`. Raises MeshloomError where those of an element do not lie side by side."""
    if view.shape[-1] > 1 and view.strides[-1] != 1:
        raise MeshloomError("the bytes of an element lie apart: no instruction takes them together")
    return View(view.space, view.address, code, view.shape[:-1], view.strides[:-1])
