"""
The sequential order of operations with the least peak of memory, and the proof that it is minimal.

A depth-first search over sets of completed operations decides whether an order within a limit exists. One rule keeps it
small: an operation that is ready, fits, and does not increase memory runs at once. In every order without this, moving
the operation to the front needs no more memory at any later time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..cost_graphs.graph import CostGraph
from .problem import offload_problem


@dataclass(frozen=True)
class LeastPeak:
    """An order and its peak."""

    order: tuple[int, ...]
    peak: int
    """Peak in bytes."""
    proven: bool
    """Whether no order has a smaller peak; else the search reached its limit on states."""
    states: int
    """Number of sets of operations that were visited."""


def least_peak(graph: CostGraph, most_states: int = 2_000_000) -> LeastPeak:
    """The order with the least peak; limits just below the best so far are tried until one is impossible."""
    problem = offload_problem(graph)
    search = _Search(graph)
    order, peak, total = tuple(range(graph.ops)), problem.peak, 0
    while peak > problem.smallest_budget:
        found, states = search.within(peak - 1, most_states - total)
        total += states
        if found is None:
            return LeastPeak(order, peak, total < most_states, total)
        order, peak = tuple(found), search.peak(found)
    return LeastPeak(order, peak, True, total)


class _Search:
    """A graph as Python lists, and the search for orders of its operations."""

    def __init__(self, graph: CostGraph) -> None:
        size = np.where(graph.counted, graph.size, 0).tolist()
        self.ops = graph.ops
        self.size: list[int] = size
        self.reads = [[t for t in graph.inputs.row(op) if size[t]] for op in range(graph.ops)]
        self.makes = [[t for t in graph.outputs.row(op) if size[t]] for op in range(graph.ops)]
        self.takes = [sum(size[t] for t in row) for row in self.makes]
        self.readers = [len(graph.readers[t]) for t in range(graph.tensors)]
        self.predecessors = [len(graph.predecessors[op]) for op in range(graph.ops)]
        self.successors = [graph.successors.row(op) for op in range(graph.ops)]

    def peak(self, order: list[int]) -> int:
        """The peak of an order."""
        left, live, peak = self.readers.copy(), 0, 0
        for op in order:
            peak = max(peak, live + self.takes[op])
            live += self.growth(op, left)
            for tensor in self.reads[op]:
                left[tensor] -= 1
        return peak

    def growth(self, op: int, left: list[int]) -> int:
        """Bytes in memory after an operation minus those before it."""
        freed = sum(self.size[t] for t in self.reads[op] if left[t] == 1)
        return self.takes[op] - freed - sum(self.size[t] for t in self.makes[op] if not self.readers[t])

    def within(self, limit: int, most_states: int) -> tuple[list[int] | None, int]:
        """(an order that stays within a limit, or None; number of sets visited)."""
        state = _State(self)
        seen: set[int] = set()
        # For each level, the number of operations completed before it, and the operations still to be tried there.
        levels: list[tuple[int, list[int]]] = []
        while True:
            state.run_shrinking(limit)
            if len(state.order) == self.ops:
                return state.order, len(seen)
            if state.done not in seen:
                seen.add(state.done)
                if len(seen) >= most_states:
                    return None, len(seen)
                levels.append((len(state.order), state.fitting(limit)))
            while levels and not levels[-1][1]:
                levels.pop()
            if not levels:
                return None, len(seen)
            count, untried = levels[-1]
            while len(state.order) > count:
                state.undo()
            state.run(untried.pop())


class _State:
    """The operations that have run, the bytes in memory, and the operations that are ready."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._left, self._missing = search.readers.copy(), search.predecessors.copy()
        self._ready = {op for op in range(search.ops) if not self._missing[op]}
        self._live = 0
        """Bytes in memory."""
        self.order: list[int] = []
        self.done = 0
        """The set of operations that have run, one bit each."""

    def _growth(self, op: int) -> int:
        return self._search.growth(op, self._left)

    def _fits(self, op: int, limit: int) -> bool:
        return self._live + self._search.takes[op] <= limit

    def run_shrinking(self, limit: int) -> None:
        """Run the operations that are ready, fit, and do not increase memory, until there are none."""
        moved = True
        while moved:
            moved = False
            for op in sorted(self._ready):
                if self._fits(op, limit) and self._growth(op) <= 0:
                    self.run(op)
                    moved = True

    def fitting(self, limit: int) -> list[int]:
        """The operations that are ready and fit, the one with the least growth last."""
        fitting = [op for op in self._ready if self._fits(op, limit)]
        return sorted(fitting, key=lambda op: (self._growth(op), op), reverse=True)

    def run(self, op: int) -> None:
        """Run an operation that is ready."""
        self._live += self._growth(op)
        for tensor in self._search.reads[op]:
            self._left[tensor] -= 1
        self._ready.discard(op)
        for after in self._search.successors[op]:
            self._missing[after] -= 1
            if not self._missing[after]:
                self._ready.add(after)
        self.order.append(op)
        self.done |= 1 << op

    def undo(self) -> None:
        """Undo the last operation."""
        op = self.order.pop()
        for after in self._search.successors[op]:
            if not self._missing[after]:
                self._ready.discard(after)
            self._missing[after] += 1
        for tensor in self._search.reads[op]:
            self._left[tensor] += 1
        self._ready.add(op)
        self._live -= self._growth(op)
        self.done ^= 1 << op
