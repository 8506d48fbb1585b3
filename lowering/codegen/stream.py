"""Instruction streams of single cores as code generation emits them: in program order, unsynchronised, without loops.

A stream is flat from the start (`array` buffers, about 80 bytes an instruction), because whole networks emit millions
of instructions. Descriptor operands are 32-bit here:

- a number from `DescriptorTable.intern`, shared by all streams of a compilation (16 bits per program once linked);
- `IMMEDIATE`: the operand is the immediate value in the address field (0xFFFF in the word);
- `core_set_operand(index)`: an index into the executable's table of core sets (the index itself in the word);
- `UNUSED`: nothing (0xFFFF in the word as well).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.encoding import MAX_DIMS, NO_SOURCE

IMMEDIATE = 0xFFFF_FFFF
"""Descriptor operand: the address field holds the value."""
UNUSED = 0xFFFF_FFFE
"""Descriptor operand: the instruction has no such operand."""
CORE_SET_FLAG = 0x8000_0000
"""Descriptor operands from here up to `UNUSED` are core-set indices."""
SRAM, DRAM = 0, 1
"""Spaces of effects. Further small numbers may represent resources other than memory that order instructions."""

Effect: TypeAlias = tuple[int, int, int, bool]
"""(space, first byte, one past the last byte, writes?)"""

_UNUSED_PADS = ((UNUSED,) * 4, (UNUSED,) * 3, (UNUSED,) * 2, (UNUSED,), ())
_ZERO_PADS = ((0,) * 4, (0,) * 3, (0,) * 2, (0,), ())
NUMBER = 1
"""The register into which a core reads the number of steps, or the condition, of a dynamic loop."""
FIELDS = 12
"""Of an instruction in a stream: op, dtype, imm, addr x 4, desc x 4, source."""
_MASK = 0xFFFF_FFFF


def core_set_operand(index: int) -> int:
    """The descriptor operand for core set `index`."""
    return CORE_SET_FLAG | index


def split_address(address: int) -> tuple[int, int]:
    """The low and high 32-bit halves of a DRAM address."""
    return address & _MASK, address >> 32


class DescriptorTable:
    """Access descriptors (five sizes, five byte strides), each distinct one once, in the order of first use."""

    def __init__(self) -> None:
        self._ids: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def intern(self, sizes: Sequence[int], strides: Sequence[int]) -> int:
        """Number of the descriptor with these sizes (>= 1) and byte strides, outermost dimension first.

        Fewer than five dimensions are padded at the front with size 1; strides of size-1 dimensions are stored as 0,
        so that equal accesses get equal numbers. Raises ValueError for more than five dimensions or sizes below 1.
        """
        if len(sizes) > MAX_DIMS or len(sizes) != len(strides):
            raise ValueError(f"a descriptor takes {MAX_DIMS} sizes and strides at most, got {sizes} and {strides}")
        pad = MAX_DIMS - len(sizes)
        key = (
            *(1 for _ in range(pad)),
            *sizes,
            *(0 for _ in range(pad)),
            *(0 if size == 1 else stride for size, stride in zip(sizes, strides, strict=True)),
        )
        if (found := self._ids.get(key)) is not None:
            return found
        if min(sizes, default=1) < 1:
            raise ValueError(f"descriptor sizes must be at least 1, got {tuple(sizes)}")
        self._ids[key] = len(self._ids)
        return len(self._ids) - 1

    def intern_block(self, sizes: Sequence[int], strides: Sequence[int]) -> int:
        """Number of the descriptor of an encoded block, whose sizes and strides have a special meaning."""
        key = (*sizes, *strides)
        if len(sizes) != MAX_DIMS or len(strides) != MAX_DIMS or min(sizes) < 1:
            raise ValueError(
                f"an encoded block takes {MAX_DIMS} sizes of at least 1 and strides, got {sizes}, {strides}"
            )
        return self._ids.setdefault(key, len(self._ids))

    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        """Sizes and strides of all descriptors, each [descriptors, 5]."""
        table = np.array(list(self._ids), dtype=np.int64).reshape(-1, 2 * MAX_DIMS)
        return table[:, :MAX_DIMS].astype(np.uint32), table[:, MAX_DIMS:].astype(np.int32)


@dataclass(frozen=True)
class EmittedEnding:
    """How a dynamic loop ends."""

    by_count: bool
    """The number of steps was read into register `NUMBER` before the loop."""
    must_end: bool
    """Some step must leave the loop, at the latest the last."""


@dataclass(frozen=True)
class EmittedLoop:
    """A loop in a stream, of which the stream has only a few steps."""

    steps: int
    """Number of steps of the loop; see `ending`."""
    numbers: tuple[int, ...]
    """Numbers of the steps that were emitted, ascending."""
    starts: tuple[int, ...]
    """Positions in the stream where the emitted steps begin, and where the last of them ends."""
    ending: EmittedEnding | None = None
    """How a dynamic loop ends; its `steps` are the largest number. None: the number of steps is known."""


@dataclass(frozen=True)
class StreamArrays:
    """A finished stream of n instructions; the effects of i are rows effect_start[i] up to effect_start[i + 1]."""

    op: NDArray[np.uint8]
    dtype: NDArray[np.uint8]
    imm: NDArray[np.uint16]
    addr: NDArray[np.uint32]
    """[n, 4]"""
    desc: NDArray[np.uint32]
    """[n, 4], as described in the module's docstring."""
    source: NDArray[np.uint32]
    effect_start: NDArray[np.int64]
    """[n + 1]"""
    effects: NDArray[np.int64]
    """[effects, 4]: space, first byte, one past the last byte, 1 for a write."""
    loops: tuple[EmittedLoop, ...] = ()

    def __len__(self) -> int:
        return len(self.op)


class CoreStream:
    """The instructions of one core in program order. Cheap to append to (one to two microseconds an instruction)."""

    def __init__(self, descriptors: DescriptorTable | None = None) -> None:
        """`descriptors`: the table shared by all streams of a compilation (a new one if absent)."""
        self.descriptors = DescriptorTable() if descriptors is None else descriptors
        self._fields = array("I")
        self._effects = array("q")
        self._effect_ends = array("q")
        self._loops: list[EmittedLoop] = []
        self._numbers: list[int] = []
        self._starts: list[int] = []
        self._steps = 0
        self._merged: list[tuple[int, int, int, int | None, int | None]] = []
        """(Space, first byte, one past the last, first and last instruction for which they count as one)."""

    def begin_step(self, number: int, steps: int) -> None:
        """Begin step `number` of a loop of `steps` steps."""
        self._numbers.append(number)
        self._starts.append(len(self))
        self._steps = steps

    def end_loop(self, ending: EmittedEnding | None = None) -> None:
        """End the loop after the step that was begun last."""
        starts = (*self._starts, len(self))
        self._loops.append(EmittedLoop(self._steps, tuple(self._numbers), starts, ending))
        self._numbers, self._starts = [], []

    def merge_dram_accesses(self, low: int, high: int) -> None:
        """
        Count each access within these bytes of DRAM as an access to all of them, so that steps of loops get equal
        synchronisation.
        """
        self._merged.append((DRAM, low, high, None, None))

    def merge_sram_accesses(self, low: int, high: int, first: int) -> None:
        """As `merge_dram_accesses`, for bytes of SRAM and the instructions from `first` up to the newest one."""
        self._merged.append((SRAM, low, high, first, len(self)))

    def __len__(self) -> int:
        return len(self._effect_ends)

    def emit(
        self,
        op: int,
        *,
        dtype: int = 0,
        imm: int = 0,
        addr: Sequence[int] = (),
        desc: Sequence[int] = (),
        effects: Sequence[Effect] = (),
        source: int = NO_SOURCE,
    ) -> None:
        """Append one instruction.

        `op` is the opcode; up to four `addr` (taken modulo 2^32, so negative i32 immediates may be given as they are)
        and `desc` operands, the rest are 0 and unused; `effects` are the byte ranges read and written, any number of
        them (empty ranges are dropped).
        """
        self._fields.extend(
            (
                op,
                dtype,
                imm,
                *[value & _MASK for value in addr],
                *_ZERO_PADS[len(addr)],
                *desc,
                *_UNUSED_PADS[len(desc)],
                source,
            )
        )
        recorded = self._effects
        for effect in effects:
            if effect[1] < effect[2]:
                recorded.extend(effect)
        self._effect_ends.append(len(recorded) >> 2)

    def extend(self, fields: NDArray[np.uint32], effects: NDArray[np.int64]) -> None:
        """Append instructions [n, FIELDS] with one effect each, [n, 4], none of them empty."""
        first = (len(self._effects) >> 2) + 1
        self._fields.frombytes(fields.tobytes())
        self._effects.frombytes(effects.tobytes())
        self._effect_ends.extend(range(first, first + len(fields)))

    def repeat(self, other: CoreStream, first: int, last: int) -> None:
        """Append instructions `first` up to `last` of another stream, which has the same table of descriptors."""
        if first == last:
            return
        begin, end = other._effect_ends[first - 1] if first else 0, other._effect_ends[last - 1]
        shift = (len(self._effects) >> 2) - begin
        self._fields.extend(other._fields[first * FIELDS : last * FIELDS])
        self._effects.extend(other._effects[4 * begin : 4 * end])
        self._effect_ends.extend([position + shift for position in other._effect_ends[first:last]])

    def finish(self) -> StreamArrays:
        """The stream as arrays. They are copies, since the stream may grow further."""
        count = len(self)
        fields = np.array(self._fields, dtype=np.uint32).reshape(count, FIELDS)
        starts = np.zeros(count + 1, dtype=np.int64)
        starts[1:] = self._effect_ends
        effects = np.array(self._effects, dtype=np.int64).reshape(-1, 4)
        for space, low, high, first, last in self._merged:
            some = effects if first is None or last is None else effects[starts[first] : starts[last]]
            inside = (some[:, 0] == space) & (some[:, 1] >= low) & (some[:, 2] <= high)
            some[inside, 1], some[inside, 2] = low, high
        return StreamArrays(
            op=fields[:, 0].astype(np.uint8),
            dtype=fields[:, 1].astype(np.uint8),
            imm=fields[:, 2].astype(np.uint16),
            addr=fields[:, 3:7].copy(),
            desc=fields[:, 7:11].copy(),
            source=fields[:, 11].copy(),
            effect_start=starts,
            effects=effects,
            loops=tuple(self._loops),
        )
