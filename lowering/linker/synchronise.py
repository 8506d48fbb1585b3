"""Token bits of an instruction stream: which instruction waits for which, derived from the bytes that they access.

Two accesses conflict if they overlap in one space and at least one writes. Units run in order, so for every instruction
only the newest conflicting access of each other unit matters, and of those only accesses not yet known to have
completed. Knowledge is a vector clock per instruction (newest instruction of each unit that has completed before this
one starts), so needs implied through other units are dropped. As a need is dropped unless it is newer than everything
known, the producers that one unit waits for on another strictly increase: the k-th signal always meets the k-th wait,
and no instruction needs more than one bit each way.

What the sequencer does itself (`drain`, `lr`, and `leave` behind it) comes when all units are idle: what is before it
has completed when anything behind it starts.

No schedule of the units can deadlock: tokens point backwards in program order only, and the oldest instruction that
has not completed is at the head of its queue with all its tokens there, however short the queues are.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.isa import UNIT_OF_OPCODE
from ...support.jit import jit
from ..codegen.stream import StreamArrays

UNITS = 8
_SPACE_BITS = 58


def synchronise_loops(
    stream: StreamArrays,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], list[NDArray[np.uint64]]]:
    """
    The wait and signal bits, each [n] uint8, that order all conflicting accesses of `stream`, and for each loop a
    number for the state of synchronisation at the beginning of each emitted step, relative to that step: if two steps
    have the same number and the same instructions, so have all after them.

    Spaces of effects are small numbers, addresses below 2^58.
    """
    marks = [
        (start, loop.starts[0], loop.starts[max(0, position - 1)])
        for loop in stream.loops
        for position, start in enumerate(loop.starts[:-1])
    ]
    table = np.array(marks, np.int64).reshape(-1, 3)
    wait, signal, states = _synchronise(UNIT_OF_OPCODE[stream.op], stream.effect_start, stream.effects, table)
    ends = np.cumsum([len(loop.numbers) for loop in stream.loops])
    return wait, signal, np.split(states, ends)[:-1]


def synchronise_units(
    unit: NDArray[np.uint8], effect_start: NDArray[np.int64], effects: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The bits of `synchronise_loops`, from the unit of every instruction [n] and its effects (see `StreamArrays`)."""
    return _synchronise(unit, effect_start, effects, np.zeros((0, 3), np.int64))[:2]


def _synchronise(
    unit: NDArray[np.uint8], effect_start: NDArray[np.int64], effects: NDArray[np.int64], marks: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint64]]:
    """`marks`: [n, 3] first instruction of an emitted step, of its loop, and of the previous step; ascending."""
    states = np.zeros(len(marks), np.uint64)
    wait = np.zeros(len(unit), dtype=np.uint8)
    signal = np.zeros(len(unit), dtype=np.uint8)
    # One line of addresses for all spaces; DRAM first, since what is inserted often should have little behind it.
    ranges = effects[:, 1:3] + ((effects[:, 0] ^ 1) << _SPACE_BITS)[:, np.newaxis]
    writes = effects[:, 3] != 0
    _fill_bits(
        np.ascontiguousarray(unit),
        np.ascontiguousarray(effect_start),
        ranges,
        writes,
        _touches_written(ranges, writes),
        marks,
        states,
        wait,
        signal,
    )
    return wait, signal, states


def _touches_written(ranges: NDArray[np.int64], writes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For every range whether any instruction writes a byte of it; reads of constants need no bookkeeping."""
    written = ranges[writes]
    if len(written) == 0:
        return writes
    order = np.argsort(written[:, 0], kind="stable")
    low, high = written[order, 0], np.maximum.accumulate(written[order, 1])
    # Of the writes that begin before the range ends, does one end after the range begins?
    before = cast("NDArray[np.int64]", np.searchsorted(low, ranges[:, 1], side="left"))
    return (before > 0) & (high[np.maximum(before, 1) - 1] > ranges[:, 0])


@jit
def _split(
    at: np.int64, starts: NDArray[np.int64], slots: NDArray[np.int64], count: int, access: NDArray[np.int64]
) -> tuple[int, int]:
    """Split segments so that `at` is the first byte of one. Returns its position and the new number of segments."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] < at:
            low = middle + 1
        else:
            high = middle
    if low < count and starts[low] == at:
        return low, count
    # The slots behind `count` are the free ones, so the first of them takes the copy of the segment that is cut.
    new = slots[count]
    for position in range(count, low, -1):
        starts[position] = starts[position - 1]
        slots[position] = slots[position - 1]
    starts[low] = at
    slots[low] = new
    for unit in range(UNITS + 1):
        access[new, unit] = access[slots[low - 1], unit]
    return low, count + 1


@jit
def _remove(first: int, last: int, starts: NDArray[np.int64], slots: NDArray[np.int64], count: int) -> int:
    """Delete segments first .. last - 1 and free their slots. Returns the new number of segments."""
    gone = last - first
    if gone == 0:
        return count
    # Of the slots behind, each that is freed takes the place of one that moves to the front: their order is free.
    for position in range(last, count):
        starts[position - gone] = starts[position]
        slots[position - gone], slots[position] = slots[position], slots[position - gone]
    return count - gone


@jit
def _place(index: np.int64, mark: NDArray[np.int64]) -> np.uint64:
    """
    The number of an instruction relative to the beginning of a step. Those of a loop before the last step are after all
    that is before the loop, and before all that steps wait for; they need not be distinguished.
    """
    if index < mark[1]:
        return np.uint64(index + 1)
    if index < mark[2]:
        return np.uint64(1 << 62)
    return np.uint64((1 << 62) + 1 + mark[0] - index)


@jit
def _state(
    starts: NDArray[np.int64],
    slots: NDArray[np.int64],
    count: int,
    access: NDArray[np.int64],
    known: NDArray[np.int32],
    clock: NDArray[np.int32],
    mark: NDArray[np.int64],
) -> np.uint64:
    """A hash of the state that determines the dependences of the instructions after a mark."""
    code = np.uint64(count)
    factor = np.uint64(0x9E3779B97F4A7C15)
    for me in range(UNITS):
        for other in range(UNITS):
            code = (code ^ _place(np.int64(known[me, other]), mark)) * factor
            code ^= code >> np.uint64(29)
    for position in range(count):
        code = (code ^ np.uint64(starts[position])) * factor
        for unit in range(UNITS + 1):
            index = access[slots[position], unit]
            if mark[1] <= index < mark[2]:
                index = -2 - index  # nothing in the last step: steps are not alike
            code = (code ^ np.uint64(index + (1 << 40)) if index < 0 else code ^ _place(index, mark)) * factor
            code ^= code >> np.uint64(29)
            if index >= mark[1]:
                for other in range(UNITS):
                    code = (code ^ _place(np.int64(clock[index, other]), mark)) * factor
                    code ^= code >> np.uint64(31)
    return code


@jit
def _fill_bits(
    unit: NDArray[np.uint8],
    effect_start: NDArray[np.int64],
    ranges: NDArray[np.int64],
    writes: NDArray[np.bool_],
    relevant: NDArray[np.bool_],
    marks: NDArray[np.int64],
    states: NDArray[np.uint64],
    wait: NDArray[np.uint8],
    signal: NDArray[np.uint8],
) -> None:
    """Compute the bits in one walk through the stream. The state of memory is a sorted list of segments that cover it.

    access[slot, u] is the newest read of the segment by unit u since its last write, access[slot, 8] that write
    (-1: none). Earlier accesses are ordered before the last write already. clock[i, v] is the newest instruction of
    unit v known to have completed when i starts.
    """
    total = len(unit)
    clock = np.full((total, UNITS), -1, np.int32)
    known = np.full((UNITS, UNITS), -1, np.int32)
    need = np.empty(UNITS, np.int64)
    starts, slots = np.zeros(64, np.int64), np.arange(64)
    access = np.full((64, UNITS + 1), -1, np.int64)
    count = 1
    marked = 0
    for index in range(total):
        while marked < len(marks) and marks[marked, 0] == index:
            states[marked] = _state(starts, slots, count, access, known, clock, marks[marked])
            marked += 1
        me = unit[index]
        if me >= UNITS:
            known[:, :] = index
            continue
        need[:] = -1
        for number in range(effect_start[index], effect_start[index + 1]):
            if not relevant[number]:
                continue
            if count + 2 > len(starts):
                # Copied in loops: assignments of slices check their sizes, which takes seconds to compile.
                size = 2 * len(starts)
                before, places, accesses = starts, slots, access
                starts, slots, access = (
                    np.zeros(size, np.int64),
                    np.arange(size),
                    np.full((size, UNITS + 1), -1, np.int64),
                )
                for slot in range(len(before)):
                    starts[slot], slots[slot] = before[slot], places[slot]
                    for other in range(UNITS + 1):
                        access[slot, other] = accesses[slot, other]
            first, count = _split(ranges[number, 0], starts, slots, count, access)
            last, count = _split(ranges[number, 1], starts, slots, count, access)
            for position in range(first, last):
                slot = slots[position]
                writer = access[slot, UNITS]
                if writer >= 0 and unit[writer] != me:
                    need[unit[writer]] = max(need[unit[writer]], writer)
                if writes[number]:
                    for other in range(UNITS):
                        if other != me:
                            need[other] = max(need[other], access[slot, other])
                else:
                    access[slot, me] = index
            if writes[number]:
                # One segment again: a write makes all earlier accesses of the range irrelevant.
                count = _remove(first + 1, last, starts, slots, count)
                access[slots[first], :] = -1
                access[slots[first], UNITS] = index
        # Newest need first: what it implies about older ones is then known.
        while True:
            best = 0
            for other in range(1, UNITS):
                if need[other] > need[best]:
                    best = other
            producer = need[best]
            if producer < 0:
                break
            need[best] = -1
            if producer <= known[me, best]:
                continue
            wait[index] |= np.uint8(1 << best)
            signal[producer] |= np.uint8(1 << me)
            for other in range(UNITS):
                known[me, other] = max(known[me, other], clock[producer, other])
            known[me, best] = producer
        for other in range(UNITS):
            clock[index, other] = known[me, other]
