"""Elementwise operations: one vector instruction each."""

from __future__ import annotations

from ....dialects.coreasm.encoding import TypeCode
from ....dialects.coreasm.isa import OPCODE
from ....dialects.dataflow.elementwise import BitcastOp, CompareOp, ElementwiseOp
from ....dialects.dataflow.quantize import QuantizeOp
from ....support.errors import MeshloomError
from ..view import View
from .common import Tile

_MNEMONICS = {
    "cast": "mov",
    "reciprocal": "rcp",
    "maximum": "max",
    "minimum": "min",
    "shift_left": "shl",
    "shift_right": "shr",
}
"""Instructions whose name differs from that of the operation."""


_INTEGERS = {1: TypeCode.U8, 2: TypeCode.U16, 4: TypeCode.U32, 8: TypeCode.U64}
"""Integer types by bytes; a move of these keeps every bit."""


def select_bitcast(op: BitcastOp, tile: Tile) -> None:
    """A move of integers. `out` may be the memory of the operand with its strides."""
    (source,) = tile.views
    type = _INTEGERS[tile.out.item_bytes]
    tile.emitter.unary("mov", tile.out._replace(dtype=type), source._replace(dtype=type))


def select_quantize(op: QuantizeOp, tile: Tile) -> None:
    """The instruction of the same name, its zero point an immediate."""
    a, scale = tile.operands
    if not isinstance(a, View):
        raise MeshloomError(f"the constant {a} must be in memory to be quantised")
    tile.emitter.quantize(tile.out, a, scale, op.zero_point)


def select_elementwise(op: ElementwiseOp, tile: Tile) -> None:
    """Unary, binary and compare operations, cast and select. `out` may be the memory of an operand with its strides."""
    name = op.predicate.data.value if isinstance(op, CompareOp) else op.name.removeprefix("dataflow.")
    name = _MNEMONICS.get(name, name)
    if name not in OPCODE:
        raise ValueError(
            f"{op.name}: there is no instruction '{name}'; enter one in dialects/coreasm/table_compute.py, or the "
            "mnemonic of another one in _MNEMONICS of lowering/codegen/kernels/elementwise.py"
        )
    match tile.operands:
        case [a]:
            tile.emitter.unary(name, tile.out, a)
        case [a, b]:
            tile.emitter.binary(name, tile.out, a, b)
        case [a, b, c]:
            tile.emitter.ternary(name, tile.out, a, b, c)
        case _:
            raise ValueError(f"{op.name} has {len(tile.operands)} operands: expected one to three")
