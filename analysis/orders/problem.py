"""
The ordering problem as flat arrays, and the cost of an order.

The model: each unit has one in-order queue, filled in the order of the operations. An operation starts when its queue
reaches it and its operands are complete; it takes its duration. A value takes memory from the start of its producer
until its last reader is complete; a value without readers stays. With a limit on memory, operations also start in the
order, over all units: each waits until those before it have started and its results fit. This loses no makespan: for
any run within the limit, the order of its starts gives a run that is no longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import CostGraph, Flat, Ints, Lists

NO_CAP = 1 << 62
"""A limit on memory that is never reached."""


class Arrays(NamedTuple):
    """The problem for compiled functions. Lists are given as starts of rows, and values."""

    duration: Flat
    """[n]"""
    unit: Flat
    """[n]"""
    pred_starts: Flat
    preds: Flat
    """Operations that must be complete before one starts."""
    succ_starts: Flat
    succs: Flat
    size: Flat
    """[v] bytes of each value that counts as memory"""
    read_starts: Flat
    reads: Flat
    """Values that each operation reads."""
    reader_starts: Flat
    readers: Flat
    """Operations that read each value."""
    made_starts: Flat
    made: Flat
    """Values that each operation computes."""
    alloc: Flat
    """[n] bytes of all values that it computes"""
    tail: Flat
    """[n] the longest path from its start to the end, its own duration included"""


@dataclass(frozen=True)
class OrderProblem:
    """n operations, numbered so that each follows its predecessors; their units, durations and values."""

    names: tuple[str, ...]
    unit_names: tuple[str, ...]
    duration: Ints
    unit: Ints
    predecessors: Lists
    size: Ints
    """[v] bytes of each value"""
    producer: Ints
    """[v] the operation that computes it"""
    reads: Lists
    """[n] values that each operation reads"""
    cap: int = NO_CAP
    """Largest number of bytes of all values at one time."""

    @property
    def ops(self) -> int:
        """Number of operations."""
        return len(self.duration)

    @property
    def capped(self) -> bool:
        """Whether there is a limit on memory."""
        return self.cap < NO_CAP

    @cached_property
    def successors(self) -> Lists:
        """[n] operations that depend on each."""
        return self.predecessors.transposed(self.ops)

    @cached_property
    def made(self) -> Lists:
        """[n] values that each operation computes."""
        return Lists(np.arange(len(self.producer) + 1, dtype=np.int64), self.producer).transposed(self.ops)

    @cached_property
    def unit_loads(self) -> Ints:
        """[units] the time for which each unit is busy, in any order."""
        loads = np.zeros(len(self.unit_names), np.int64)
        np.add.at(loads, self.unit, self.duration)
        return loads

    @cached_property
    def tails(self) -> Ints:
        """[n] the longest path from an operation's start to the end."""
        return longest_tails(self.duration, self.successors.starts, self.successors.values)

    @property
    def critical_path(self) -> int:
        """The longest path from start to end."""
        return int(self.tails.max(initial=0))

    @property
    def bound(self) -> int:
        """A lower bound on the makespan: the busiest unit's load, or the critical path."""
        return max(int(self.unit_loads.max(initial=0)), self.critical_path)

    @cached_property
    def arrays(self) -> Arrays:
        """The problem as arrays for compiled functions."""
        alloc = np.zeros(self.ops, np.int64)
        np.add.at(alloc, self.producer, self.size)
        readers = self.reads.transposed(len(self.size))
        return Arrays(
            self.duration, self.unit, self.predecessors.starts, self.predecessors.values, self.successors.starts,
            self.successors.values, self.size, self.reads.starts, self.reads.values, readers.starts, readers.values,
            self.made.starts, self.made.values, alloc, self.tails,
        )  # fmt: skip

    def part(self, ops: Ints) -> OrderProblem:
        """
        The problem of some of the operations (ascending), without values; results of other operations are available
        from the start.
        """
        none = np.zeros(0, np.int64)
        return OrderProblem(
            tuple(self.names[int(op)] for op in ops), self.unit_names, self.duration[ops], self.unit[ops],
            self.predecessors.within(ops), none, none, Lists(np.zeros(len(ops) + 1, np.int64), none),
        )  # fmt: skip

    def reversed(self) -> OrderProblem:
        """The reversed problem, without memory: operation i becomes n - 1 - i, successors become predecessors."""
        last = self.ops - 1
        lengths = np.diff(self.successors.starts)[::-1]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Lists of the reversed rows: the values of row n - 1 - i, each mirrored, rows in reverse.
        values = (last - self.successors.values)[::-1]
        none = np.zeros(0, np.int64)
        return OrderProblem(
            self.names[::-1], self.unit_names, self.duration[::-1].copy(), self.unit[::-1].copy(),
            Lists(starts, values.copy()), none, none, Lists(np.zeros(self.ops + 1, np.int64), none),
        )  # fmt: skip


def problem_of(graph: CostGraph, cap: int = NO_CAP) -> OrderProblem:
    """The ordering problem of a cost graph's operations, with values in at most `cap` bytes."""
    values = np.flatnonzero(graph.counted)
    number = np.full(graph.tensors + 1, -1, np.int64)
    number[values] = np.arange(len(values))
    read = number[graph.inputs.values]
    counted = read >= 0
    lengths = np.bincount(graph.inputs.rows[counted], minlength=graph.ops)
    reads = Lists(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), read[counted])
    return OrderProblem(
        graph.op_names, graph.unit_names, graph.duration, graph.unit, graph.predecessors,
        graph.size[values], graph.producer[values], reads, cap,
    )  # fmt: skip


@jit
def longest_tails(duration: Flat, succ_starts: Flat, succs: Flat) -> Flat:
    """The longest path from the start of each operation to the end, its own duration included."""
    tails = duration.copy()
    for op in range(len(duration) - 1, -1, -1):
        longest = np.int64(0)
        for edge in range(succ_starts[op], succ_starts[op + 1]):
            longest = max(longest, tails[succs[edge]])
        tails[op] += longest
    return tails
