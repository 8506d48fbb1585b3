"""
Simulated annealing of orders: one operation at a time moves to another position between its predecessors and
successors. Operations on the critical path of the current order are moved most often. The evaluation of an order stops
as soon as it can no longer be accepted, so that many orders cost less than a complete evaluation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat
from .problem import Arrays
from .simulate import INFEASIBLE, run_order

COLDEST = 0.02
"""The last temperature relative to the first."""


@jit
def anneal_order(
    p: Arrays, units: Any, cap: Any, order: Flat, evaluations: Any, heat: Any, good: Any, seed: Any
) -> Any:
    """
    Improve a feasible `order` in place. Returns the makespan.

    `heat`: the first temperature relative to the makespan. Ends after `evaluations` orders, or at a makespan of `good`.
    The result is never worse than the initial order.
    """
    np.random.seed(seed)
    count = len(order)
    start, fresh = np.zeros(count, np.int64), np.zeros(count, np.int64)
    cause, blame = np.zeros(count, np.int64), np.zeros(count, np.int64)
    now = order.copy()
    current = run_order(p, units, cap, now, start, cause, INFEASIBLE)
    best = current
    if count < 2:
        return best
    position = np.empty(count, np.int64)
    for index in range(count):
        position[now[index]] = index
    way = np.empty(count, np.int64)
    length = _critical_way(p, start, cause, way)
    warm = heat * current
    for evaluation in range(evaluations):
        if best <= good:
            break
        op, aim = _choose(p, now, position, cause, way, length)
        here = position[op]
        if aim == here:
            continue
        _move(now, position, here, aim)
        temperature = warm * COLDEST ** (evaluation / evaluations)
        limit = current - int(temperature * np.log(1.0 - np.random.random()))
        makespan = run_order(p, units, cap, now, fresh, blame, limit)
        if makespan > limit:
            _move(now, position, aim, here)
            continue
        current = makespan
        start, fresh = fresh, start
        cause, blame = blame, cause
        length = _critical_way(p, start, cause, way)
        if makespan < best:
            best = makespan
            order[:] = now
    return best


@jit
def _critical_way(p: Arrays, start: Flat, cause: Flat, way: Flat) -> Any:
    """Fill `way` with the critical path, from the last operation back to one that did not wait for another."""
    op = 0
    for other in range(len(start)):
        if start[other] + p.duration[other] > start[op] + p.duration[op]:
            op = other
    length = 0
    while op >= 0:
        way[length] = op
        length += 1
        op = cause[op]
    return length


@jit
def _choose(p: Arrays, now: Flat, position: Flat, cause: Flat, way: Flat, length: Any) -> tuple[Any, Any]:
    """An operation and a new position for it (the present one if it cannot move)."""
    kind = np.random.randint(4)
    if kind == 0:
        op = np.random.randint(len(now))
        earlier = np.random.randint(2) == 0
    else:
        op = way[np.random.randint(length)]
        earlier = kind < 3
        if not earlier and cause[op] >= 0:
            op = cause[op]
    here = position[op]
    if earlier:
        low = 0
        for edge in range(p.pred_starts[op], p.pred_starts[op + 1]):
            low = max(low, position[p.preds[edge]] + 1)
        room = here - low
    else:
        high = len(now) - 1
        for edge in range(p.succ_starts[op], p.succ_starts[op + 1]):
            high = min(high, position[p.succs[edge]] - 1)
        room = high - here
    if room == 0:
        return op, here
    # Distances are uniform on a logarithmic scale: near positions are tried most, far ones as well.
    step = min(room, int(np.exp(np.random.random() * np.log(room + 1.0))))
    return op, here - step if earlier else here + step


@jit
def _move(now: Flat, position: Flat, here: Any, there: Any) -> None:
    """Move the operation at position `here` to position `there`; those between shift by one."""
    op = now[here]
    step = 1 if there > here else -1
    index = here
    while index != there:
        now[index] = now[index + step]
        position[now[index]] = index
        index += step
    now[there] = op
    position[op] = there
