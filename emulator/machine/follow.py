"""
Traversal of one core's program without data: loops, registers, and the bytes that each operand spans.

Loops whose counts depend on data run with their largest count, so that the addresses that a program accesses are known
without executing it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import ITEMSIZE, OPCODE, TypeOf, by_operand
from ...support.jit import jit

Ints = NDArray[np.int64]

REGISTERS = 16
LOOPS = 8
"""An upper bound on the nesting depth of loops."""

_TYPES = [TypeOf.SOURCE, TypeOf.DESTINATION, TypeOf.BOOL, TypeOf.F32]
_TYPE: NDArray[np.uint8] = by_operand(lambda o: _TYPES.index(o.type), np.uint8)
_LOOP, _LOOP_BY, _ADDI, _LI, _HALT = (OPCODE[name] for name in ("loop", "loop.r", "addi", "li", "halt"))


def item_bytes(words: NDArray[Any]) -> Ints:
    """[n, 4] bytes of an element of each operand of `words`."""
    low, high = (words["dtype"] & 15).astype(np.int64), (words["dtype"] >> 4).astype(np.int64)
    kind = _TYPE[words["op"]]
    fixed = np.where(kind == 3, 4, 1)
    return cast(Ints, np.where(kind == 0, ITEMSIZE[low][:, None], np.where(kind == 1, ITEMSIZE[high][:, None], fixed)))


def reach(descs: NDArray[Any]) -> tuple[Ints, Ints]:
    """[descriptors + 1] bytes from an operand's address to its lowest and to its highest element; the last: 0."""
    sizes, strides = descs["size"].astype(np.int64), descs["stride"].astype(np.int64)
    down = np.append((np.minimum(strides, 0) * (sizes - 1)).sum(axis=1), 0)
    return down, np.append((np.maximum(strides, 0) * (sizes - 1)).sum(axis=1), 0)


@jit
def next_access(
    op: NDArray[Any], imm: NDArray[Any], addr: NDArray[Any], register: Ints, loops: Ints, pc: int, depth: int
) -> tuple[int, int]:
    """
    (index of the next unit's instruction at or after `pc`, depth of loops around it); the index is the number of words
    at the end of the program.

    `register` [16] and `loops` [8, 3] (start, end, remaining iterations) are the state, which is updated; zeros at
    first.
    """
    while True:
        while depth > 0 and pc == loops[depth - 1, 1]:
            loops[depth - 1, 2] -= 1
            if loops[depth - 1, 2] > 0:
                pc = loops[depth - 1, 0]
                break
            depth -= 1
        if pc >= len(op) or op[pc] == _HALT:
            return len(op), depth
        if op[pc] == _LOOP_BY and addr[pc, 0] == 0:
            pc += addr[pc, 1]
        elif op[pc] == _LOOP or op[pc] == _LOOP_BY:
            loops[depth, 0], loops[depth, 1], loops[depth, 2] = pc + 1, pc + 1 + addr[pc, 1], addr[pc, 0]
            depth += 1
        elif op[pc] == _ADDI or op[pc] == _LI:
            value = addr[pc, 0]
            if value >= 1 << 31:
                value -= 1 << 32
            number = imm[pc] & 15
            register[number] = value + (register[number] if op[pc] == _ADDI else 0)
            register[0] = 0
        else:
            return pc, depth
        pc += 1
