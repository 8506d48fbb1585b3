"""Simulation of the operations in a given order by the model of `problem`, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...support.heap import heap_drop, heap_push
from ...support.jit import jit
from ..cost_graphs.graph import Flat, Ints
from .problem import NO_CAP, Arrays, OrderProblem

INFEASIBLE = 1 << 61
"""Makespan of an order that exceeds the limit on memory, even one operation at a time."""


@dataclass(frozen=True)
class Timeline:
    """The times in ns at which each operation starts and ends."""

    order: Ints
    start: Ints
    """[n] by operation"""
    end: Ints
    makespan: int
    peak: int
    """The largest number of bytes of values at one time."""


def simulate(problem: OrderProblem, order: Ints) -> Timeline | None:
    """The run of a topological order; None if its values do not fit the limit on memory."""
    start, cause = np.zeros((2, problem.ops), np.int64)
    makespan = run_order(problem.arrays, len(problem.unit_names), problem.cap, order, start, cause, INFEASIBLE)
    if makespan >= INFEASIBLE:
        return None
    end = start + problem.duration
    return Timeline(order, start, end, int(makespan), peak_bytes(problem, start))


def makespan_of(problem: OrderProblem, order: Ints) -> int:
    """The makespan; INFEASIBLE if `simulate` returns None."""
    start, cause = np.zeros((2, problem.ops), np.int64)
    return int(run_order(problem.arrays, len(problem.unit_names), problem.cap, order, start, cause, INFEASIBLE))


def peak_bytes(problem: OrderProblem, start: Ints) -> int:
    """
    Peak bytes of values in a run with these starts. Values that die at a time are freed before those defined then; a
    value without readers stays.
    """
    return int(profile(problem, start)[1].max(initial=0))


def lifetimes(problem: OrderProblem, start: Ints) -> tuple[Ints, Ints]:
    """
    ([v], [v]) times in ns from which, and until which (not included), each value takes memory in a run with these
    starts. NO_CAP: until the end.
    """
    death = np.full(len(problem.size), NO_CAP, np.int64)
    last = np.zeros(len(problem.size), np.int64)
    np.maximum.at(last, problem.reads.values, (start + problem.duration)[problem.reads.rows])
    read = np.unique(problem.reads.values)
    death[read] = last[read]
    return start[problem.producer], death


def profile(problem: OrderProblem, start: Ints) -> tuple[Ints, Ints]:
    """
    (times in ns, bytes of values from each of them on), ascending, of a run with these starts; see `peak_bytes`. A time
    may occur several times: the last entry is the value, those before it are partial sums. NO_CAP: never.
    """
    birth, death = lifetimes(problem, start)
    times = np.concatenate([death, birth])
    changes = np.concatenate([-problem.size, problem.size])
    # Deaths come first at equal times; those of values with lifetime 0 are superfluous, but harmless.
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def serial_peak(problem: OrderProblem, order: Ints) -> int:
    """The peak bytes of values if one operation runs at a time; the order fits every limit that is not below this."""
    position = np.empty(problem.ops, np.int64)
    position[order] = np.arange(problem.ops)
    change = np.zeros(problem.ops + 1, np.int64)
    np.add.at(change, position[problem.producer], problem.size)
    last = np.full(len(problem.size), -1, np.int64)
    np.maximum.at(last, problem.reads.values, position[problem.reads.rows])
    np.subtract.at(change, last[last >= 0] + 1, problem.size[last >= 0])
    return int(np.cumsum(change).max(initial=0))


@jit
def run_order(p: Arrays, units: Any, cap: Any, order: Flat, start: Flat, cause: Flat, limit: Any) -> Any:
    """
    Fill `start`. Returns the makespan; INFEASIBLE if memory does not suffice.

    Fills `cause` with the operation that each one waited for last; -1 if it did not wait. Stops as soon as the makespan
    is known to be above `limit`, and returns a number above `limit`.
    """
    count = len(order)
    free = np.zeros(units, np.int64)
    before = np.full(units, -1, np.int64)
    end = np.zeros(count, np.int64)
    makespan = np.int64(0)
    if cap >= NO_CAP:
        for index in range(count):
            op = order[index]
            time = free[p.unit[op]]
            cause[op] = before[p.unit[op]]
            for edge in range(p.pred_starts[op], p.pred_starts[op + 1]):
                if end[p.preds[edge]] > time:
                    time = end[p.preds[edge]]
                    cause[op] = p.preds[edge]
            if time + p.tail[op] > limit:
                return time + p.tail[op]
            start[op] = time
            end[op] = time + p.duration[op]
            free[p.unit[op]] = end[op]
            before[p.unit[op]] = op
            makespan = max(makespan, end[op])
        return makespan
    left = p.reader_starts[1:] - p.reader_starts[:-1]
    last = np.full(len(left), -1, np.int64)
    heap_time = np.empty(len(left), np.int64)
    heap_value = np.empty(len(left), np.int64)
    waiting = 0
    live = np.int64(0)
    for index in range(count):
        op = order[index]
        time = free[p.unit[op]]
        cause[op] = before[p.unit[op]]
        for edge in range(p.pred_starts[op], p.pred_starts[op + 1]):
            if end[p.preds[edge]] > time:
                time = end[p.preds[edge]]
                cause[op] = p.preds[edge]
        if index > 0 and start[order[index - 1]] > time:
            time = start[order[index - 1]]
            cause[op] = order[index - 1]
        while waiting > 0 and (heap_time[0] <= time or live + p.alloc[op] > cap):
            if heap_time[0] > time:
                time = heap_time[0]
                cause[op] = last[heap_value[0]]
            live -= p.size[heap_value[0]]
            waiting -= 1
            heap_drop(heap_time, heap_value, waiting)
        live += p.alloc[op]
        if live > cap:
            return INFEASIBLE
        if time + p.tail[op] > limit:
            return time + p.tail[op]
        start[op] = time
        end[op] = time + p.duration[op]
        free[p.unit[op]] = end[op]
        before[p.unit[op]] = op
        makespan = max(makespan, end[op])
        for edge in range(p.read_starts[op], p.read_starts[op + 1]):
            value = p.reads[edge]
            left[value] -= 1
            if last[value] < 0 or end[op] > end[last[value]]:
                last[value] = op
            if left[value] == 0:
                heap_push(heap_time, heap_value, waiting, end[last[value]], value)
                waiting += 1
    return makespan
