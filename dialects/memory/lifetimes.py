"""
Verification of the lifetimes of buffers: buffers that are live at the same time share no bytes, and no buffer is used
after its lifetime.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..locations import located
from .attributes import BufferType, Space
from .ops import AllocOp, FreeOp
from .stash_types import TokenType
from .transfers import WaitOp
from .values import GlobalOp, ViewOp

_Entry = tuple[int, int, int]
"""(First byte, end, number of the buffer)."""


def verify_lifetimes(block: Block) -> None:
    """
    Raises VerifyException, located at the operation, if live buffers of a block share bytes or a buffer is used after
    its end.

    A buffer with an address is live from its allocation to its `memory.free`, or to the end of the block; a DRAM buffer
    that a launch allocates, from the launch to the `memory.wait` for the launch.
    """
    _Lifetimes().check(block)


class _Lifetimes:
    def __init__(self) -> None:
        self.alive: dict[Space, list[_Entry]] = {}
        self.values: list[SSAValue] = []
        self.entries: dict[SSAValue, _Entry] = {}
        self.freed: set[SSAValue] = set()
        self.of_launch: dict[SSAValue, list[_Entry]] = {}
        """Token -> DRAM buffers that its launch allocates."""

    def check(self, block: Block) -> None:
        for argument in block.args:
            if isinstance(argument.type, BufferType):
                self._add(argument, block.parent_op())
        for op in block.ops:
            if self.freed:
                self._check_uses(op)
            match op:
                case AllocOp() | GlobalOp():
                    self._add(op.buffer, op)
                case FreeOp():
                    self._free(op.buffer)
                case ViewOp() if op.source in self.freed:
                    self.freed.add(op.result)
                case WaitOp():
                    for entry in self.of_launch.pop(op.token, ()):
                        self.alive[Space.DRAM].remove(entry)
                case _ if op.regions:
                    self._add_launch(op)
                case _:
                    pass

    def _add(self, value: SSAValue, op: Operation | None) -> None:
        entry = self._entry(value)
        if entry is not None:
            self._check_overlap(value, entry, op)
            self.entries[value] = entry
            insort(self.alive.setdefault(_space(value), []), entry)

    def _entry(self, value: SSAValue) -> _Entry | None:
        """The bytes of a buffer; None if it has no address or no bytes."""
        type = value.type
        assert isinstance(type, BufferType)
        if type.offset is None or not type.nbytes:
            return None
        self.values.append(value)
        return type.offset, type.offset + type.nbytes, len(self.values) - 1

    def _check_overlap(self, value: SSAValue, entry: _Entry, op: Operation | None) -> None:
        around = self.alive.get(_space(value), [])
        position = bisect_left(around, entry)
        for low, high, other in around[max(0, position - 1) : position + 1]:
            if low < entry[1] and entry[0] < high:
                message = (
                    f"buffers {_shown(self.values[other])} and {_shown(value)} are live at the same time and "
                    "share bytes"
                )
                error = VerifyException(message)
                raise error if op is None else located(error, op)

    def _free(self, value: SSAValue) -> None:
        if (entry := self.entries.pop(value, None)) is not None:
            self.alive[_space(value)].remove(entry)
        ended = [value]
        while ended:
            one = ended.pop()
            self.freed.add(one)
            ended += [use.operation.result for use in one.uses if isinstance(use.operation, ViewOp)]

    def _check_uses(self, op: Operation) -> None:
        for inner in op.walk():
            if gone := next((value for value in inner.operands if value in self.freed), None):
                raise located(VerifyException(f"{_shown(gone)} is used after its memory.free"), inner)

    def _add_launch(self, op: Operation) -> None:
        """Add the DRAM buffers that are allocated in the body of an operation; their block is checked separately."""
        taken: list[_Entry] = []
        for inner in op.walk():
            if isinstance(inner, AllocOp) and _space(inner.buffer) is Space.DRAM:
                entry = self._entry(inner.buffer)
                if entry is not None:
                    self._check_overlap(inner.buffer, entry, inner)
                    taken.append(entry)
        for token in op.results:
            if isinstance(token.type, TokenType) and taken:
                self.of_launch[token] = _disjoint(taken)
                for entry in self.of_launch[token]:
                    insort(self.alive.setdefault(Space.DRAM, []), entry)


def _disjoint(entries: list[_Entry]) -> list[_Entry]:
    """The union of the entries as disjoint ranges."""
    found: list[_Entry] = []
    for low, high, number in sorted(entries):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high), found[-1][2])
        else:
            found.append((low, high, number))
    return found


def _space(value: SSAValue) -> Space:
    assert isinstance(value.type, BufferType)
    return value.type.space


def _shown(value: SSAValue) -> str:
    return f"%{value.name_hint} : {value.type}" if value.name_hint else str(value.type)
