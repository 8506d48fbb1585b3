"""Semantics of all instructions: a table of decoding functions by mnemonic."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.coreasm.isa import BY_MNEMONIC
from ...machine.errors import Fault
from ...machine.memory import Bytes
from .base import Decoded, Instruction
from .elementwise import binary, cumsum, fma, iota, quantize, select, unary
from .matmul import matmul
from .move import copy, fill, gather, scatter
from .reduce import OF_BYTES, arg_reduce, dot, dot_of_bytes, reduce
from .scalar import BINARY, UNARY


def _nothing(sram: Bytes, dram: Bytes, a0: int, a1: int, a2: int, a3: int) -> None:
    """The step of synchronisation, which the sequencer executes: nothing to compute."""


def synchronisation(ins: Instruction) -> Decoded:
    """signal, ready, drain and waits access no memory."""
    return Decoded(_nothing)


SEMANTICS: dict[str, Callable[[Instruction], Decoded]] = {
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(BINARY, binary),
    "matmul": matmul,
    "matmul.acc": matmul,
    "fma": fma,
    "select": select,
    "quantize": quantize,
    **{f"reduce.{kind}{acc}": reduce for kind in ("sum", "max", "min", "prod") for acc in ("", ".acc")},
    "reduce.argmax": arg_reduce,
    "reduce.argmin": arg_reduce,
    **{f"{name}{acc}": dot_of_bytes for name in OF_BYTES for acc in ("", ".acc")},
    "dot": dot,
    "dot.acc": dot,
    "iota": iota,
    "cumsum": cumsum,
    "copy": copy,
    "fill": fill,
    "gather": gather,
    "scatter": scatter,
    "scatter.add": scatter,
    "scatter.max": scatter,
    "load": lambda ins: copy(ins, source_dram=True),
    "load.gather": lambda ins: gather(ins, index_slot=3, source_dram=True),
    "store": lambda ins: copy(ins, target_dram=True),
    "signal": synchronisation,
    "send.wait": synchronisation,
    "ready": synchronisation,
    "wait": synchronisation,
    "drain": synchronisation,
}
"""
All instructions of the cores' units, except `put`, which needs other cores' memories (see `move.put`), and those of
`sparse`, whose costs depend on values.
"""


def decode(ins: Instruction) -> Decoded:
    """The decoded form of `ins`. Raises Fault if its operands do not match, LookupError without semantics."""
    check_pair(ins)
    semantics = SEMANTICS.get(ins.mnemonic)
    if semantics is None:
        raise LookupError(
            f"instruction '{ins.mnemonic}' has no semantics: enter its function in UNARY or BINARY of "
            "emulator/functional/semantics/scalar.py, or in SEMANTICS of table.py there"
        )
    return semantics(ins)


def check_pair(ins: Instruction) -> None:
    """Raise Fault unless the instruction table allows the element types of `ins`."""
    permitted = BY_MNEMONIC[ins.mnemonic].types
    if permitted and (ins.source_type, ins.result_type) not in permitted:
        raise Fault(f"element types {ins.source_type} and {ins.result_type} are not possible with '{ins.mnemonic}'")
