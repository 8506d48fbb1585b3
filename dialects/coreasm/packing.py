"""Lossless conversions between the packed and the unpacked form of programs."""

from __future__ import annotations

from xdsl.ir import Operation

from .check import canonical_words
from .code import Code, accesses
from .encoding import NO_SOURCE
from .isa import BY_CODE
from .ops import INSTRUCTION_OPS, AccessAttr, UnpackedControllerOp, UnpackedOp, UnpackedProgramOp
from .packed import ControllerOp, PackedOp, ProgramOp
from .program_text import params_of_words, word_fields
from .text import Source


def instruction_ops(code: Code) -> list[Operation]:
    """The instructions of a program as ops, loops with their bodies. The words must be valid."""
    words = word_fields(canonical_words(code.words))
    sources: list[int] = code.sources.tolist()
    params = params_of_words(code)

    def build(start: int, end: int) -> list[Operation]:
        ops: list[Operation] = []
        at = start
        while at < end:
            opcode, fields = words[at]
            source: Source = None if sources[at] == NO_SOURCE else code.names[sources[at]]
            own = params.get(at, ())
            instruction = BY_CODE[opcode]
            body: list[Operation] | None = None
            at += 1
            if instruction.has_body:
                length, fields.addr[1] = fields.addr[1], 0
                body = build(at, at + length)
                at += length
            ops.append(INSTRUCTION_OPS[instruction.mnemonic](fields, own, source, body))
        return ops

    return build(0, len(words))


def unpacked(op: PackedOp) -> UnpackedOp:
    """The unpacked form of a program, with the same attributes."""
    code = op.code
    result: UnpackedOp
    if isinstance(op, ProgramOp):
        descs = [AccessAttr(sizes, strides) for sizes, strides in accesses(code.descs)]
        result = UnpackedProgramOp(op.sym_name.data, instruction_ops(code), descs)
    else:
        result = UnpackedControllerOp(instruction_ops(code))
    result.attributes.update(op.attributes)
    return result


def packed(op: UnpackedOp) -> PackedOp:
    """The packed form of a program, with the same attributes. Raises VerifyException for invalid parameters."""
    code = op.code
    result = ProgramOp(op.sym_name.data, code) if isinstance(op, UnpackedProgramOp) else ControllerOp(code)
    result.attributes.update(op.attributes)
    return result
