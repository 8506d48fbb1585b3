"""Topological orders: enumeration, random sampling, completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...support.heap import heap_drop, heap_push
from ...support.jit import jit
from ..cost_graphs.graph import Flat, Ints
from .problem import Arrays, OrderProblem


def topological_orders(problem: OrderProblem) -> Iterator[Ints]:
    """All topological orders, in lexicographic order."""
    missing = np.diff(problem.predecessors.starts).tolist()
    after = [problem.successors[op].tolist() for op in range(problem.ops)]
    order: list[int] = []
    # Depth-first without recursion: `choices` holds, for each position, the operations that are still to be tried
    # there.
    choices = [[op for op in range(problem.ops - 1, -1, -1) if missing[op] == 0]]
    ready: list[set[int]] = [set(choices[0])]
    if problem.ops == 0:
        yield np.zeros(0, np.int64)
        return
    while choices:
        if len(order) == len(choices):
            op = order.pop()
            for other in after[op]:
                missing[other] += 1
        if not choices[-1]:
            choices.pop()
            ready.pop()
            continue
        op = choices[-1].pop()
        order.append(op)
        freed: list[int] = []
        for other in after[op]:
            missing[other] -= 1
            if missing[other] == 0:
                freed.append(other)
        if len(order) == problem.ops:
            yield np.array(order, np.int64)
            continue
        ready.append((ready[-1] - {op}) | set(freed))
        choices.append(sorted(ready[-1], reverse=True))


@jit
def random_order(p: Arrays, seed: Any, order: Flat) -> None:
    """Fill `order` by repeatedly choosing one of the ready operations with equal probability."""
    np.random.seed(seed)
    count = len(order)
    missing = p.pred_starts[1:] - p.pred_starts[:-1]
    ready = np.empty(count, np.int64)
    size = 0
    for op in range(count):
        if missing[op] == 0:
            ready[size] = op
            size += 1
    for index in range(count):
        pick = np.random.randint(size)
        op = ready[pick]
        size -= 1
        ready[pick] = ready[size]
        order[index] = op
        for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
            after = p.succs[edge]
            missing[after] -= 1
            if missing[after] == 0:
                ready[size] = after
                size += 1


@jit
def complete_order(p: Arrays, order: Flat, placed: Any, priority: Flat) -> None:
    """Keep the first `placed` operations of `order`, append the rest: of those ready, highest priority first."""
    count = len(order)
    missing = p.pred_starts[1:] - p.pred_starts[:-1]
    key, held = np.empty(count, np.int64), np.empty(count, np.int64)
    taken = np.zeros(count, np.bool_)
    for index in range(placed):
        op = order[index]
        taken[op] = True
        for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
            missing[p.succs[edge]] -= 1
    size = 0
    for op in range(count):
        if missing[op] == 0 and not taken[op]:
            heap_push(key, held, size, -priority[op], op)
            size += 1
    for index in range(placed, count):
        op = held[0]
        size -= 1
        heap_drop(key, held, size)
        order[index] = op
        for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
            after = p.succs[edge]
            missing[after] -= 1
            if missing[after] == 0:
                heap_push(key, held, size, -priority[after], after)
                size += 1
