"""
List scheduling within a limit on memory.

A schedule that allocates memory whenever it is free can deadlock. So each start is checked by the banker's algorithm
(Dijkstra, EWD 623): the remaining operations, run one at a time in a reference order, must still fit. `need` holds the
live bytes at each operation of that serial run; an early start of an operation increases it by the operation's results,
over the interval by which the operation is early.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat
from .problem import Arrays
from .simulate import INFEASIBLE

BLOCK = 32
"""Number of entries of the serial run that are increased and compared together."""
GONE = 1 << 62
"""Negative: the need of an operation that has started."""
TRIES = 6
"""Ready operations of a unit that are considered at one time."""


@jit
def memory_list_order(
    p: Arrays, units: Any, cap: Any, reference: Flat, priority: Flat, window: Any, order: Flat, start: Flat
) -> Any:
    """
    Fill `order` (by start) and `start`. Returns the makespan; INFEASIBLE if the reference order itself does not fit.

    Operations start at most `window` positions ahead of the first one of the reference order that has not started.
    """
    count = len(order)
    need = np.zeros(count, np.int64)
    if serial_need(p, reference, need) > cap:
        return INFEASIBLE
    position = np.empty(count, np.int64)
    for index in range(count):
        position[reference[index]] = index
    blocks = (count + BLOCK - 1) // BLOCK
    top = np.zeros(blocks, np.int64)
    add = np.zeros(blocks, np.int64)
    for block in range(blocks):
        _refresh(need, top, block)
    begun = np.zeros(count + 1, np.bool_)
    left = p.reader_starts[1:] - p.reader_starts[:-1]  # readers that have not completed
    missing = p.pred_starts[1:] - p.pred_starts[:-1]
    ready = np.empty((units, count), np.int64)  # by descending priority
    size = np.zeros(units, np.int64)
    for op in range(count):
        if missing[op] == 0:
            _insert(ready[p.unit[op]], size, p.unit[op], op, priority)
    running = np.full(units, -1, np.int64)
    done = np.zeros(units, np.int64)
    now = np.int64(0)
    live = np.int64(0)
    front = 0
    placed = 0
    while placed < count:
        for unit in range(units):
            if running[unit] >= 0:
                continue
            tried = 0
            for rank in range(size[unit]):
                op = ready[unit][rank]
                if position[op] - front > window or live + p.alloc[op] > cap:
                    continue
                if tried >= TRIES and position[op] != front:
                    continue
                tried += 1
                if position[op] != front and not _lend(p, cap, op, front, position, begun, need, top, add):
                    continue
                for later in range(rank, size[unit] - 1):
                    ready[unit][later] = ready[unit][later + 1]
                size[unit] -= 1
                begun[position[op]] = True
                need[position[op]] = -GONE
                _refresh(need, top, position[op] // BLOCK)
                while begun[front]:
                    front += 1
                order[placed] = op
                placed += 1
                start[op] = now
                live += p.alloc[op]
                running[unit] = op
                done[unit] = now + p.duration[op]
                break
        earliest = -1
        for unit in range(units):
            if running[unit] >= 0 and (earliest < 0 or done[unit] < done[earliest]):
                earliest = unit
        now = done[earliest]
        for unit in range(units):
            if running[unit] >= 0 and done[unit] == now:
                op = running[unit]
                running[unit] = -1
                for edge in range(p.read_starts[op], p.read_starts[op + 1]):
                    value = p.reads[edge]
                    left[value] -= 1
                    if left[value] == 0:
                        live -= p.size[value]
                for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
                    after = p.succs[edge]
                    missing[after] -= 1
                    if missing[after] == 0:
                        _insert(ready[p.unit[after]], size, p.unit[after], after, priority)
    for unit in range(units):
        if running[unit] >= 0:
            now = max(now, done[unit])
    return now


@jit
def serial_need(p: Arrays, order: Flat, need: Flat) -> Any:
    """
    Fill `need` with the live bytes at each operation of a serial run (by position in `order`). Returns the largest.
    """
    left = p.reader_starts[1:] - p.reader_starts[:-1]
    live = np.int64(0)
    peak = np.int64(0)
    for index in range(len(order)):
        op = order[index]
        live += p.alloc[op]
        need[index] = live
        peak = max(peak, live)
        for edge in range(p.read_starts[op], p.read_starts[op + 1]):
            value = p.reads[edge]
            left[value] -= 1
            if left[value] == 0:
                live -= p.size[value]
    return peak


@jit
def _insert(row: Flat, size: Flat, unit: Any, op: Any, priority: Flat) -> None:
    """Put `op` into the ready operations of its unit, the higher priority first, then the lower number."""
    at = size[unit]
    while at > 0 and (priority[row[at - 1]], -row[at - 1]) < (priority[op], -op):
        row[at] = row[at - 1]
        at -= 1
    row[at] = op
    size[unit] += 1


@jit
def _lend(
    p: Arrays, cap: Any, op: Any, front: Any, position: Flat, begun: Flat, need: Flat, top: Flat, add: Flat
) -> Any:
    """Whether the rest still fits if `op` starts before all remaining operations; if so, `need` is updated."""
    here = position[op]
    for trial in range(2):
        sign = 1 - 2 * trial
        _raise(need, top, add, front, here, sign * p.alloc[op])
        for edge in range(p.read_starts[op], p.read_starts[op + 1]):
            # A value that `op` would have freed is now freed earlier: after the reader that becomes the last one.
            value = p.reads[edge]
            since = front
            for index in range(p.reader_starts[value], p.reader_starts[value + 1]):
                other = position[p.readers[index]]
                if other > here:
                    since = here
                elif other < here and not begun[other]:
                    since = max(since, other + 1)
            _raise(need, top, add, since, here, -sign * p.size[value])
        if trial == 0 and _highest(need, top, add, front, here) <= cap:
            return True
    return False


@jit
def _raise(need: Flat, top: Flat, add: Flat, first: Any, last: Any, change: Any) -> None:
    """
    need[first : last] += change, whole blocks at once: `top` is a block's largest entry, `add` the change of all its
    entries.
    """
    index = first
    while index < last:
        block = index // BLOCK
        stop = (block + 1) * BLOCK
        if index == block * BLOCK and stop <= last:
            add[block] += change
        else:
            stop = min(stop, last)
            for entry in range(index, stop):
                need[entry] += change
            _refresh(need, top, block)
        index = stop


@jit
def _refresh(need: Flat, top: Flat, block: Any) -> None:
    """Recompute a block's largest entry."""
    highest = need[block * BLOCK]
    for entry in range(block * BLOCK + 1, min((block + 1) * BLOCK, len(need))):
        highest = max(highest, need[entry])
    top[block] = highest


@jit
def _highest(need: Flat, top: Flat, add: Flat, first: Any, last: Any) -> Any:
    """The largest of need[first : last]."""
    highest = -GONE
    index = first
    while index < last:
        block = index // BLOCK
        stop = (block + 1) * BLOCK
        if index == block * BLOCK and stop <= last:
            highest = max(highest, top[block] + add[block])
        else:
            stop = min(stop, last)
            for entry in range(index, stop):
                highest = max(highest, need[entry] + add[block])
        index = stop
    return highest
