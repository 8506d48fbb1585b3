"""Wait and signal bits of an instruction stream: which instruction waits for which, derived from the accessed bytes.

Two accesses conflict if they overlap in one space and at least one writes. Each unit executes its instructions in
order, so an instruction depends on at most one access of every other unit: the newest conflicting one. That dependence
needs a wait only if the access is not yet known to have completed. A vector clock per instruction records this (the
newest instruction of each unit that has completed before this one starts), so dependences implied through other units
are dropped. As only dependences newer than the clock are kept, the producers that one unit waits for on another
strictly increase: the k-th signal always meets the k-th wait, and an instruction needs at most one bit per unit to wait
and one per unit to signal.

The instructions that the sequencer executes itself (`drain`, `lr`, and a `leave` after `lr`) start when all units are
idle: every instruction before them has completed before any instruction after them starts.

No schedule of the units can deadlock: waits refer to earlier instructions only, so the oldest instruction that has not
completed is at the head of its queue and has all its signals, however short the queues are.
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
    The wait and signal bits, each [n] uint8, that order all conflicting accesses of `stream`, and for each loop
    [emitted steps] hashes of the synchronisation state at the beginning of each step, relative to that step. Two steps
    with equal hashes and equal instructions get equal bits and leave equal states.

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
    # One address range for all spaces, which are the high bits. SRAM is the last of the two memories: its segments
    # change most often, and each insertion moves the segments at higher addresses.
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
    """For every range whether any instruction writes a byte of it. Reads of other ranges conflict with nothing."""
    written = ranges[writes]
    if len(written) == 0:
        return writes
    order = np.argsort(written[:, 0], kind="stable")
    low, high = written[order, 0], np.maximum.accumulate(written[order, 1])
    # A range overlaps a write if, of the writes that begin before its end, one ends after its beginning.
    before = cast("NDArray[np.int64]", np.searchsorted(low, ranges[:, 1], side="left"))
    return (before > 0) & (high[np.maximum(before, 1) - 1] > ranges[:, 0])


@jit
def _split(
    at: np.int64, starts: NDArray[np.int64], slots: NDArray[np.int64], count: int, access: NDArray[np.int64]
) -> tuple[int, int]:
    """
    Split the segment that contains byte `at` there. Returns the position of the segment that begins at `at`, and the
    new number of segments.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] < at:
            low = middle + 1
        else:
            high = middle
    if low < count and starts[low] == at:
        return low, count
    # Slots from `count` on are free: the first of them takes the accesses of the new segment, which begin as a copy.
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
    removed = last - first
    if removed == 0:
        return count
    # Swapping moves the freed slots behind those in use. The order of free slots does not matter.
    for position in range(last, count):
        starts[position - removed] = starts[position]
        slots[position - removed], slots[position] = slots[position], slots[position - removed]
    return count - removed


@jit
def _relative_index(index: np.int64, mark: NDArray[np.int64]) -> np.uint64:
    """
    The index of an instruction, as it enters the hash of a step: absolute before the loop, relative to the beginning of
    the step in the previous step. Instructions of the loop before the previous step all get one number: they are newer
    than everything before the loop, and no step waits for one of them.
    """
    if index < mark[1]:
        return np.uint64(index + 1)
    if index < mark[2]:
        return np.uint64(1 << 62)
    return np.uint64((1 << 62) + 1 + mark[0] - index)


@jit
def _state_hash(
    starts: NDArray[np.int64],
    slots: NDArray[np.int64],
    count: int,
    access: NDArray[np.int64],
    known: NDArray[np.int32],
    clock: NDArray[np.int32],
    mark: NDArray[np.int64],
) -> np.uint64:
    """A hash of everything that determines the bits of the instructions from a mark on (see `_synchronise`)."""
    code = np.uint64(count)
    factor = np.uint64(0x9E3779B97F4A7C15)
    for me in range(UNITS):
        for other in range(UNITS):
            code = (code ^ _relative_index(np.int64(known[me, other]), mark)) * factor
            code ^= code >> np.uint64(29)
    for position in range(count):
        code = (code ^ np.uint64(starts[position])) * factor
        for unit in range(UNITS + 1):
            index = access[slots[position], unit]
            if mark[1] <= index < mark[2]:
                index = -2 - index  # an access older than the previous step: makes the hashes of two steps differ
            code = (code ^ np.uint64(index + (1 << 40)) if index < 0 else code ^ _relative_index(index, mark)) * factor
            code ^= code >> np.uint64(29)
            if index >= mark[1]:
                for other in range(UNITS):
                    code = (code ^ _relative_index(np.int64(clock[index, other]), mark)) * factor
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
    """
    Compute the bits in one walk through the stream. The state of memory is a sorted list of segments that cover it;
    segment i begins at byte starts[i], and row slots[i] of `access` has its accesses.

    access[slot, u] is the newest read of the segment by unit u since its last write, access[slot, 8] that write
    (-1: none). Earlier accesses are ordered before the last write already. clock[i, v] is the newest instruction of
    unit v known to have completed when i starts; known[u] is the clock of the newest instruction of unit u.
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
            states[marked] = _state_hash(starts, slots, count, access, known, clock, marks[marked])
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
                # Copied element by element: numba takes seconds to compile assignments of slices.
                size = 2 * len(starts)
                old_starts, old_slots, old_access = starts, slots, access
                starts, slots, access = (
                    np.zeros(size, np.int64),
                    np.arange(size),
                    np.full((size, UNITS + 1), -1, np.int64),
                )
                for slot in range(len(old_starts)):
                    starts[slot], slots[slot] = old_starts[slot], old_slots[slot]
                    for other in range(UNITS + 1):
                        access[slot, other] = old_access[slot, other]
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
                # The range becomes one segment: its earlier accesses are all ordered before this write.
                count = _remove(first + 1, last, starts, slots, count)
                access[slots[first], :] = -1
                access[slots[first], UNITS] = index
        # Newest dependence first: its clock may imply older ones.
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
