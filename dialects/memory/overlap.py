"""Check that buffers which are alive at one time do not share bytes."""

from __future__ import annotations

from bisect import bisect_left, insort

from xdsl.ir import Block, SSAValue

from .attributes import BufferType, Space
from .ops import AllocOp, FreeOp
from .values import HoldOp


def overlap_in(block: Block) -> tuple[SSAValue, SSAValue] | None:
    """
    Two buffers of the block's allocations that are alive together and share bytes, or None.

    A buffer with an address lives from its allocation to its `memory.free`, or to the end of the block.
    """
    alive: dict[Space, list[tuple[int, int, int]]] = {}
    values: list[SSAValue] = []
    entries: dict[SSAValue, tuple[Space, tuple[int, int, int]]] = {}
    for op in block.ops:
        if isinstance(op, AllocOp | HoldOp):
            type = op.buffer.type
            assert isinstance(type, BufferType)
            if type.offset is None or not type.nbytes:
                continue
            entry = (type.offset, type.offset + type.nbytes, len(values))
            around = alive.setdefault(type.space, [])
            place = bisect_left(around, entry)
            for low, high, other in around[max(0, place - 1) : place + 1]:
                if low < entry[1] and entry[0] < high:
                    return values[other], op.buffer
            values.append(op.buffer)
            entries[op.buffer] = (type.space, entry)
            insort(around, entry)
        elif isinstance(op, FreeOp) and op.buffer in entries:
            space, entry = entries.pop(op.buffer)
            alive[space].remove(entry)
    return None
