"""
Orders with little memory when one operation runs at a time: the reference orders of list scheduling with a limit on
memory. Operations that do not increase memory run as soon as they can; among those that do, a rule decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat, Ints
from .problem import Arrays, OrderProblem
from .simulate import serial_peak

RULES = 3
"""
Number of rules: program order; least growth; least growth in relation to memory that is freed later (longest tail).
"""


def reference_orders(problem: OrderProblem) -> Iterator[Ints]:
    """Orders that fit the limit if one operation runs at a time; the program's order comes first."""
    program = np.arange(problem.ops, dtype=np.int64)
    if serial_peak(problem, program) <= problem.cap:
        yield program
    for rule in range(RULES):
        order = np.empty(problem.ops, np.int64)
        if greedy_order(problem.arrays, rule, order) <= problem.cap:
            yield order


def least_peak_found(problem: OrderProblem) -> int:
    """The smallest limit under which `reference_orders` finds an order."""
    order = np.arange(problem.ops, dtype=np.int64)
    peaks = [serial_peak(problem, order)]
    return min(peaks + [int(greedy_order(problem.arrays, rule, order.copy())) for rule in range(RULES)])


@jit
def greedy_order(p: Arrays, rule: Any, order: Flat) -> Any:
    """Fill `order`. Returns its peak if one operation runs at a time."""
    count = len(order)
    missing = p.pred_starts[1:] - p.pred_starts[:-1]
    left = p.reader_starts[1:] - p.reader_starts[:-1]
    growth = p.alloc.copy()
    for value in range(len(left)):
        if left[value] == 1:
            growth[p.readers[p.reader_starts[value]]] -= p.size[value]
    ready = np.empty(count, np.int64)
    size = 0
    for op in range(count):
        if missing[op] == 0:
            ready[size] = op
            size += 1
    done = np.zeros(count, np.bool_)
    live = np.int64(0)
    peak = np.int64(0)
    for index in range(count):
        pick = 0
        for rank in range(1, size):
            if _before(p, rule, growth, ready[rank], ready[pick]):
                pick = rank
        op = ready[pick]
        size -= 1
        ready[pick] = ready[size]
        order[index] = op
        done[op] = True
        peak = max(peak, live + p.alloc[op])
        live += growth[op]
        for edge in range(p.read_starts[op], p.read_starts[op + 1]):
            value = p.reads[edge]
            left[value] -= 1
            if left[value] == 1:
                for reader in range(p.reader_starts[value], p.reader_starts[value + 1]):
                    if not done[p.readers[reader]]:
                        growth[p.readers[reader]] -= p.size[value]
        for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
            after = p.succs[edge]
            missing[after] -= 1
            if missing[after] == 0:
                ready[size] = after
                size += 1
    return peak


@jit
def _before(p: Arrays, rule: Any, growth: Flat, a: Any, b: Any) -> Any:
    """Whether the ready operation `a` comes before `b`."""
    if growth[a] <= 0 or growth[b] <= 0:
        if growth[a] > 0 or growth[b] > 0:
            return growth[a] <= 0
        # Among those that do not increase memory, the one that allocates least comes first.
        return (p.alloc[a], a) < (p.alloc[b], b)
    if rule == 0:
        return a < b
    if rule == 1:
        return (growth[a], a) < (growth[b], b)
    return (p.tail[b], growth[a], a) < (p.tail[a], growth[b], b)
