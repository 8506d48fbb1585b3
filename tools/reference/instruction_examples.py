"""An example of each instruction, made from its entry in the table: one program for all instructions of a unit."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from ...dialects.coreasm.encoding import NO_DESC, Unit, pack_types
from ...dialects.coreasm.instruction import Imm, Instruction
from ...dialects.coreasm.isa import BY_MNEMONIC, INSTRUCTIONS
from ...dialects.coreasm.ops import (
    INSTRUCTION_OPS,
    AccessAttr,
    InstructionOp,
    UnpackedControllerOp,
    UnpackedProgramOp,
)
from ...dialects.coreasm.text import Fields

_IMM = {
    Imm.REGISTER: 1,
    Imm.REDUCED_DIMS: 1,
    Imm.INDEX_DIMS: 1,
    Imm.MATMUL_DIMS: 1 << 4 | 1 << 8 | 1 << 12,
}
"""Values of the field `imm` for instructions for which 0 is not valid: one dimension each of m, k and n, ..."""
_ELSEWHERE = ("halt", "ctl.halt", "leave")
"""Instructions at the end of a program, or in the body of a loop."""


def example_of(instruction: Instruction) -> InstructionOp:
    """
    An instruction with a value in each of its fields: operands have consecutive addresses and the first access
    descriptor; an operand is an immediate value only if it must be.
    """
    source, destination = min(instruction.types, default=(0, 0))
    addr, desc = [0, 0, 0, 0], [NO_DESC] * 4
    for operand in instruction.operands:
        if not operand.always_immediate:
            addr[operand.slot], desc[operand.slot] = 0x40 * operand.slot, 0
    for scalar in instruction.scalars:
        addr[scalar.slot] = 1
    if instruction.core_set:
        desc[3] = 0
    if instruction.byte_count:
        desc = [64, 0, 0, 0]
    fields = Fields(pack_types(source, destination), 0, 0, 0, _IMM.get(instruction.imm, 0), addr, desc)
    body = None
    if instruction.has_body:
        body = [example_of(BY_MNEMONIC[name]) for name in ("nop", "leave")]
    return INSTRUCTION_OPS[instruction.mnemonic](fields, body=body)


def program_of(unit: Unit) -> str:
    """Text of a program with an example of each instruction of a unit."""
    examples: list[Operation] = [
        example_of(one) for one in INSTRUCTIONS if one.unit is unit and one.mnemonic not in _ELSEWHERE
    ]
    if unit is Unit.CTL:
        program = UnpackedControllerOp([*examples, example_of(BY_MNEMONIC["ctl.halt"])])
    else:
        body = [*examples, example_of(BY_MNEMONIC["halt"])]
        program = UnpackedProgramOp(unit.name.lower(), body, [AccessAttr([16], [4])])
    text = StringIO()
    Printer(text).print_op(ModuleOp([program]).body.block.first_op or program)
    return f"{text.getvalue()}\n"


def units() -> Iterator[Unit]:
    """The units that have instructions."""
    yield from (unit for unit in Unit if any(one.unit is unit for one in INSTRUCTIONS))
