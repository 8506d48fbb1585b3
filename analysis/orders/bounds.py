"""
A lower bound on the makespan from one unit at a time. Each operation can start after the longest path to it (head) and
must be followed by the longest path from it (tail). For one unit the best order of such operations, with preemption
allowed, is by longest tail (Jackson's preemptive schedule; Carlier, "The one-machine sequencing problem", 1982). A
limit on memory can only increase the makespan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.heap import heap_drop, heap_push
from ...support.jit import jit
from .problem import Arrays, OrderProblem


def unit_bound(problem: OrderProblem) -> int:
    """A makespan below which no order is; at least `problem.bound`."""
    return max(problem.bound, int(preemptive_bound(problem.arrays, len(problem.unit_names))))


@jit
def preemptive_bound(p: Arrays, units: Any) -> Any:
    """The largest makespan of the preemptive schedules of single units."""
    count = len(p.duration)
    head = np.zeros(count, np.int64)
    for op in range(count):
        for edge in range(p.pred_starts[op], p.pred_starts[op + 1]):
            before = p.preds[edge]
            head[op] = max(head[op], head[before] + p.duration[before])
    by_head = np.argsort(head, kind="mergesort")
    key, held = np.empty(count, np.int64), np.empty(count, np.int64)
    left = p.duration.copy()
    bound = np.int64(0)
    for unit in range(units):
        size = 0
        now = np.int64(0)
        index = 0
        while index < count or size > 0:
            if size == 0 and index < count:
                now = max(now, head[by_head[index]])
            while index < count and head[by_head[index]] <= now:
                op = by_head[index]
                if p.unit[op] == unit:
                    heap_push(key, held, size, p.duration[op] - p.tail[op], op)
                    size += 1
                index += 1
            if size == 0:
                continue
            op = held[0]
            until = now + left[op]
            if index < count and head[by_head[index]] < until:
                until = head[by_head[index]]
            left[op] -= until - now
            now = until
            if left[op] == 0:
                bound = max(bound, now + p.tail[op] - p.duration[op])
                size -= 1
                heap_drop(key, held, size)
    return bound
