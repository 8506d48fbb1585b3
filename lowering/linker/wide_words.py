"""Instruction words between streams and programs: as in the binary, but with 32-bit descriptor operands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import WORD
from ...dialects.coreasm.isa import by_operand
from ..codegen.stream import CORE_SET_FLAG, StreamArrays

WIDE = np.dtype([*WORD.descr[:-1], ("desc", "<u4", (4,)), ("source", "<u4")])
"""One instruction; `desc` as in `stream` (descriptor number, core set, IMMEDIATE or UNUSED)."""


HIGH_HALF: NDArray[np.int8] = by_operand(lambda o: -1 if o.high is None else o.high, np.int8, -1)
"""[256, 4] for operands that are 64-bit DRAM addresses the address field with the upper half, else -1; by opcode."""


def wide_words(stream: StreamArrays, wait: NDArray[np.uint8], signal: NDArray[np.uint8]) -> NDArray[np.void]:
    """The words of a stream [n] WIDE, with its token bits and without registers."""
    words = np.zeros(len(stream), dtype=WIDE)
    words["op"], words["dtype"], words["imm"] = stream.op, stream.dtype, stream.imm
    words["wait"], words["signal"] = wait, signal
    words["addr"], words["desc"], words["source"] = stream.addr, stream.desc, stream.source
    return words


def address_operands(words: NDArray[np.void]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """
    Mask of the operands that are addresses (those with a descriptor), and their values with upper halves, each [n, 4].
    """
    is_address = words["desc"] < CORE_SET_FLAG
    low = words["addr"].astype(np.int64)
    halves = HIGH_HALF[words["op"]].astype(np.int64)
    high = np.take_along_axis(low, np.maximum(halves, 0), axis=1)
    return is_address, np.where(halves >= 0, low | high << 32, low)
