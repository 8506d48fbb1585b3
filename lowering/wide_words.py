"""Instruction words on their way from streams to programs: as in the binary, but with 32-bit descriptor operands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..dialects.coreasm.check import PATCHABLE
from ..dialects.coreasm.encoding import WORD
from ..dialects.coreasm.isa import INSTRUCTIONS, OPCODE, UNIT_OF_OPCODE
from .stream import CORE_SET_FLAG, StreamArrays

WIDE = np.dtype([*WORD.descr[:-1], ("desc", "<u4", (4,)), ("source", "<u4")])
"""One instruction; `desc` as in `stream` (descriptor number, core set, IMMEDIATE or UNUSED)."""


@dataclass(frozen=True)
class IsaFacts:
    """What the passes over words need to know of the instruction set, as arrays by opcode."""

    unit_of_op: NDArray[np.uint8]
    """[256], 0 to 7; 8 for the sequencer's own instructions."""
    high_half: NDArray[np.int8]
    """[256, 4]: for operands that are 64-bit DRAM addresses the address field with the upper half, else -1."""
    halt: int
    loop: int
    addi: int
    li: int
    patchable: NDArray[np.bool_]
    """[256, 10] which fields (addr0..3, desc0..3, imm, regs) may be parameters of a shared program."""


def isa_facts() -> IsaFacts:
    """The facts of the instruction set in use."""
    high_half = np.full((256, 4), -1, dtype=np.int8)
    for instruction in INSTRUCTIONS:
        for operand in instruction.operands:
            if operand.high is not None:
                high_half[instruction.code, operand.slot] = operand.high
    codes = {name: OPCODE[name] for name in ("halt", "loop", "addi", "li")}
    return IsaFacts(UNIT_OF_OPCODE, high_half, patchable=PATCHABLE, **codes)


def wide_words(stream: StreamArrays, wait: NDArray[np.uint8], signal: NDArray[np.uint8]) -> NDArray[np.void]:
    """The words of a stream [n] WIDE, with its token bits and without registers."""
    words = np.zeros(len(stream), dtype=WIDE)
    words["op"], words["dtype"], words["imm"] = stream.op, stream.dtype, stream.imm
    words["wait"], words["signal"] = wait, signal
    words["addr"], words["desc"], words["source"] = stream.addr, stream.desc, stream.source
    return words


def address_operands(
    words: NDArray[np.void], high_half: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which operands are addresses (those with a descriptor), and their values with upper halves, each [n, 4]."""
    is_address = words["desc"] < CORE_SET_FLAG
    low = words["addr"].astype(np.int64)
    halves = high_half[words["op"]].astype(np.int64)
    high = np.take_along_axis(low, np.maximum(halves, 0), axis=1)
    return is_address, np.where(halves >= 0, low | high << 32, low)
