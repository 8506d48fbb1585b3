"""
The event queue of the timing engine: a timing wheel of one slot per cycle, and a heap for events beyond its horizon.

Events of packets are dense in time (several per cycle on a busy mesh), so finding the next one in a wheel takes a few
instructions without comparisons; events of much later cycles are few. The events of a slot are sorted when its cycle is
reached: no event is added to the current cycle.

All state is in arrays that the caller owns (kernels without reference counting cannot allocate).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...support.heap import heap_drop, heap_push
from ...support.jit import Array, jit_with

SLOTS = 1024
"""Number of cycles in the wheel."""
_WORD = 32
WORDS = SLOTS // _WORD
"""Number of words in the bit map of used slots."""

NEXT, LANE, CYCLES, PORT_WORK, CLASS, FLAGS, WAY, NODE = range(8)
"""
Columns of an event: the next event of its slot; core * 8 + unit; the cycles for which its packet occupies a link, and
its bytes times the number of DRAM ports; the class of its word; flags, kind of node and input of its router; link or
port of that node, and the next node (see `kernel`).
"""
COLUMNS = 8
"""Number of columns."""

IN_WHEEL, IN_HEAP, NOW, FREE_EVENT, NEW_EVENT, ALIVE = range(6)
COUNTERS = 6
"""
Counters: events in the wheel, events in the heap, the current cycle; the first free event record (0: none), the number
of records ever used, and the number in use.
"""

KEY_BITS = 20
_LANE = (1 << KEY_BITS) - 1

_kernel = jit_with(_nrt=False)
_FACTOR = 0x077CB531  # a de Bruijn sequence: the top five bits of its multiples by powers of two are all different
_BIT = np.zeros(_WORD, np.uint8)
for _power in range(_WORD):
    _BIT[(_FACTOR << _power & 0xFFFFFFFF) >> 27] = _power


class EventWheel(NamedTuple):
    """The arrays of a wheel, which are the parameters with these names of the kernels below. Event 0 means none."""

    events: Array
    slots: Array
    used: Array
    keys: Array
    values: Array
    order: Array
    counters: Array


def new_wheel(room: int) -> EventWheel:
    """An empty wheel with capacity for `room` events."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[NEW_EVENT] = 1
    return EventWheel(
        np.empty(room * COLUMNS, np.uint32), np.zeros(SLOTS, np.uint32), np.zeros(WORDS, np.int64),
        np.empty(room, np.int64), np.empty(room, np.uint32), np.empty(room, np.uint32), counters,
    )  # fmt: skip


@_kernel
def new_event(events: Array, counters: Array) -> int:
    """Allocate a record for an event; its fields are undefined."""
    counters[ALIVE] += 1
    event = counters[FREE_EVENT]
    if event != 0:
        counters[FREE_EVENT] = events[8 * event + NEXT]
    else:
        event = counters[NEW_EVENT]
        counters[NEW_EVENT] += 1
    return event


@_kernel
def copy_event(events: Array, counters: Array, event: Any) -> int:
    """Allocate a record for a copy of the packet of `event`; its flags, way and node are undefined."""
    copy = new_event(events, counters)
    events[8 * copy + LANE] = events[8 * event + LANE]
    events[8 * copy + CYCLES] = events[8 * event + CYCLES]
    events[8 * copy + PORT_WORK] = events[8 * event + PORT_WORK]
    events[8 * copy + CLASS] = events[8 * event + CLASS]
    return copy


@_kernel
def free_event(events: Array, counters: Array, event: Any) -> None:
    """Free the record of an event."""
    events[8 * event + NEXT] = counters[FREE_EVENT]
    counters[FREE_EVENT] = event
    counters[ALIVE] -= 1


@_kernel
def push(
    events: Array, slots: Array, used: Array, keys: Array, values: Array, counters: Array, event: Any, time: Any
) -> None:
    """Schedule `event` for cycle `time`, which is later than the current one."""
    if time - counters[NOW] < SLOTS:
        slot = time & (SLOTS - 1)
        events[8 * event + NEXT] = slots[slot]
        slots[slot] = event
        used[slot >> 5] |= 1 << (slot & 31)
        counters[IN_WHEEL] += 1
    else:
        heap_push(keys, values, counters[IN_HEAP], time << KEY_BITS | events[8 * event + LANE], event)
        counters[IN_HEAP] += 1


@jit_with(_nrt=False, inline="always")
def next_cycle(
    events: Array, slots: Array, used: Array, keys: Array, values: Array, counters: Array, order: Array
) -> int:
    """
    Advance to the next cycle with events, and write the numbers of these to `order`, sorted by lane.

    Returns how many there are; 0 if no event is left.
    """
    count = 0
    now = counters[NOW]
    found = -1
    if counters[IN_WHEEL] > 0:
        slot = now & (SLOTS - 1)
        word = slot >> 5
        bits = used[word] & (-1 << (slot & 31))
        while bits == 0:  # at most one round, ending with the first word again
            word = (word + 1) & (WORDS - 1)
            bits = used[word]
        slot_found = word << 5 | _BIT[((bits & -bits) * _FACTOR & 0xFFFFFFFF) >> 27]
        found = now + ((slot_found - slot) & (SLOTS - 1))
    if counters[IN_HEAP] > 0 and (found < 0 or keys[0] >> KEY_BITS <= found):
        # The first event of the heap is next: all events of the heap that are now within the horizon move to the wheel.
        found = keys[0] >> KEY_BITS
        counters[NOW] = found
        while counters[IN_HEAP] > 0 and (keys[0] >> KEY_BITS) - found < SLOTS:
            slot = (keys[0] >> KEY_BITS) & (SLOTS - 1)
            event = values[0]
            counters[IN_HEAP] -= 1
            heap_drop(keys, values, counters[IN_HEAP])
            events[8 * event + NEXT] = slots[slot]
            slots[slot] = event
            used[slot >> 5] |= 1 << (slot & 31)
            counters[IN_WHEEL] += 1
    if found < 0:
        return 0
    counters[NOW] = found
    slot = found & (SLOTS - 1)
    event = slots[slot]
    slots[slot] = 0
    used[slot >> 5] &= ~(1 << (slot & 31))
    first = 0  # events of lane 0 are first, without comparisons
    while event != 0:
        at = count
        if events[8 * event + LANE] == 0:
            order[at] = order[first]
            at = first
            first += 1
        order[at] = event
        count += 1
        event = events[8 * event + NEXT]
    counters[IN_WHEEL] -= count
    if count - first > 1:
        _sort(events, order, first, count)
    return count


@_kernel
def _sort(events: Array, order: Array, begin: int, end: int) -> None:
    """Sort these entries of `order` by lane (Shellsort: they are few, and often sorted already)."""
    gap = 1
    while gap < (end - begin) // 5:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            event = order[i]
            lane = events[8 * event + LANE]
            at = i
            while at >= begin + gap and events[8 * order[at - gap] + LANE] > lane:
                order[at] = order[at - gap]
                at -= gap
            order[at] = event
        gap //= 3
