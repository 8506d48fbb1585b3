"""
List scheduling: whenever a unit is free, it starts the ready operation of highest priority.

Priorities are the longest path to the end (critical path; Graham, "Bounds on multiprocessing timing anomalies", 1969),
then positions in schedules of the reversed graph (forward-backward improvement; Li and Willis, "An iterative scheduling
technique for resource-constrained project scheduling", 1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.heap import heap_drop, heap_push
from ...support.jit import jit
from ..cost_graphs.graph import Flat
from .problem import Arrays


@jit
def list_order(p: Arrays, units: Any, priority: Flat, order: Flat, start: Flat) -> Any:
    """Fill `order` (by start) and `start`. Returns the makespan. Memory is not limited."""
    count = len(order)
    missing = np.empty(count, np.int64)
    key = np.empty((units, count), np.int64)
    held = np.empty((units, count), np.int64)
    size = np.zeros(units, np.int64)
    running = np.full(units, -1, np.int64)
    done = np.zeros(units, np.int64)
    for op in range(count):
        missing[op] = p.pred_starts[op + 1] - p.pred_starts[op]
        if missing[op] == 0:
            unit = p.unit[op]
            heap_push(key[unit], held[unit], size[unit], -priority[op], op)
            size[unit] += 1
    now = np.int64(0)
    placed = 0
    while True:
        # Zero durations can make more operations ready at the same time: start and complete until nothing changes.
        for unit in range(units):
            if running[unit] < 0 and size[unit] > 0:
                op = held[unit][0]
                size[unit] -= 1
                heap_drop(key[unit], held[unit], size[unit])
                order[placed] = op
                placed += 1
                start[op] = now
                running[unit] = op
                done[unit] = now + p.duration[op]
        earliest = -1
        for unit in range(units):
            if running[unit] >= 0 and (earliest < 0 or done[unit] < done[earliest]):
                earliest = unit
        if earliest < 0:
            return now
        now = done[earliest]
        for unit in range(units):
            if running[unit] >= 0 and done[unit] == now:
                op = running[unit]
                running[unit] = -1
                for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
                    after = p.succs[edge]
                    missing[after] -= 1
                    if missing[after] == 0:
                        other = p.unit[after]
                        heap_push(key[other], held[other], size[other], -priority[after], after)
                        size[other] += 1


@jit
def forward_backward(
    p: Arrays, back: Arrays, units: Any, rounds: Any, good: Any, order: Flat, start: Flat, work: Flat
) -> Any:
    """
    Improve the schedule `order`, `start` by alternating list scheduling backwards and forwards, in place.

    `back` is the reversed problem. Ends after `rounds` turns, two turns without gain, or at a makespan of `good`.
    Returns the makespan; `work[0]` is increased by the number of schedules.
    """
    count = len(order)
    best = np.int64(0)
    for op in range(count):
        best = max(best, start[op] + p.duration[op])
    current = start.copy()
    made = np.empty(count, np.int64)
    other = np.empty(count, np.int64)
    key = np.empty(count, np.int64)
    idle = 0
    for _ in range(rounds):
        if idle == 2 or best <= good:
            break
        idle += 1
        for op in range(count):
            key[count - 1 - op] = current[op] + p.duration[op]
        list_order(back, units, key, made, other)
        for op in range(count):
            key[op] = other[count - 1 - op] + p.duration[op]
        makespan = list_order(p, units, key, made, current)
        work[0] += 2
        if makespan < best:
            best = makespan
            idle = 0
            order[:] = made
            start[:] = current
    return best
