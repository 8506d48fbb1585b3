"""
The cost of an order of tasks that run on all cores: each task has a profile of the intervals in which it keeps each
unit busy. A task starts as soon as its intervals do not overlap those of the task before it on any unit, and its
operands are complete. Constants are loaded ahead of time, by a few tasks at most. The profile comes from an estimate,
or from a compiled instruction stream; in both cases the evaluation of an order takes microseconds. Values that stay in
SRAM are counted: bytes beyond its capacity are stored to DRAM and loaded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat, Ints, Lists
from .problem import Arrays, OrderProblem

AHEAD = 6
"""Constants are loaded this many tasks ahead at most."""


@dataclass(frozen=True)
class UnitProfiles:
    """n tasks on u units; cycles and bytes."""

    names: tuple[str, ...]
    unit_names: tuple[str, ...]
    offset: Ints
    """[n, u] from a task's start to the start of its work on a unit."""
    busy: Ints
    """[n, u] cycles of its work on a unit, on the busiest core."""
    load: Ints
    """[n] cycles of DRAM for its constants, which may be loaded ahead."""
    latency: Ints
    """[n] cycles from the completion of its operands to its start."""
    predecessors: Lists
    """[n] tasks whose results it reads."""
    held: Ints
    """[n] bytes of its result on a core if it may stay there; otherwise 0."""
    room: int
    """Bytes of SRAM per core for results."""
    spill: float
    """Cycles per byte per core that is stored to DRAM and loaded again."""

    def part(self, ops: Ints) -> UnitProfiles:
        """The profiles of some of the tasks (ascending); results of other tasks are available from the start."""
        arrays = (self.offset, self.busy, self.load, self.latency)
        offset, busy, load, latency = (array[ops] for array in arrays)
        names, before = tuple(self.names[int(op)] for op in ops), self.predecessors.within(ops)
        return UnitProfiles(
            names, self.unit_names, offset, busy, load, latency, before, self.held[ops], self.room, self.spill
        )

    def problem(self) -> OrderProblem:
        """The problem for searches: each task is on its busiest unit, and its result is a value (without a limit)."""
        makes = np.flatnonzero(self.held)
        number = np.full(len(self.names), -1, np.int64)
        number[makes] = np.arange(len(makes))
        read = number[self.predecessors.values]
        lengths = np.bincount(self.predecessors.rows[read >= 0], minlength=len(self.names))
        reads = Lists(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), read[read >= 0])
        longest = np.argmax(self.busy, axis=1).astype(np.int64)
        duration = self.busy[np.arange(len(self.names)), longest] + self.latency
        return OrderProblem(
            self.names, self.unit_names, duration, longest, self.predecessors, self.held[makes], makes, reads
        )


class ProfileCost:
    """Cycles of an order of tasks (an `OrderCost`)."""

    def __init__(self, profiles: UnitProfiles) -> None:
        self.profiles = profiles
        self._problem = profiles.problem()

    @property
    def problem(self) -> OrderProblem:
        return self._problem

    @property
    def bound(self) -> float:
        """A lower bound: the cycles of the busiest unit."""
        totals = np.append(self.profiles.busy.sum(axis=0), self.profiles.load.sum())
        return float(totals.max(initial=0))

    def cost(self, order: Ints) -> float:
        one = self.profiles
        return float(
            stack_profiles(
                self._problem.arrays, one.offset, one.busy, one.load, one.latency, one.room, one.spill, order
            )
        )

    def part(self, ops: Ints) -> ProfileCost:
        return ProfileCost(self.profiles.part(ops))


@jit
def stack_profiles(
    p: Arrays, offset: Flat, busy: Flat, load: Flat, latency: Flat, room: Any, spill: Any, order: Flat
) -> Any:
    """Cycles until the last task is complete, plus those of values that do not fit in SRAM."""
    count, units = busy.shape
    free = np.zeros(units, np.int64)
    begun = np.zeros(count + 1, np.int64)
    done = np.zeros(count, np.int64)
    loaded = np.int64(0)
    end = np.int64(0)
    left = p.reader_starts[1:] - p.reader_starts[:-1]
    live = np.int64(0)
    over = np.int64(0)
    for index in range(count):
        task = order[index]
        start = np.int64(0)
        for edge in range(p.pred_starts[task], p.pred_starts[task + 1]):
            start = max(start, done[p.preds[edge]] + latency[task])
        for unit in range(units):
            if busy[task, unit] > 0:
                start = max(start, free[unit] - offset[task, unit])
        if load[task] > 0:
            loaded = max(loaded, begun[max(0, index - AHEAD)])
            # Work overlaps with loads of the remaining constants, but cannot be complete before them.
            start = max(start, loaded)
            loaded += load[task]
        begun[index] = start
        finish = start
        for unit in range(units):
            if busy[task, unit] > 0:
                free[unit] = start + offset[task, unit] + busy[task, unit]
                finish = max(finish, free[unit])
        if load[task] > 0:
            finish = max(finish, loaded)
        done[task] = finish
        end = max(end, finish)
        live += p.alloc[task]
        over = max(over, live - room)
        for edge in range(p.read_starts[task], p.read_starts[task + 1]):
            value = p.reads[edge]
            left[value] -= 1
            if left[value] == 0:
                live -= p.size[value]
    return end + max(over, 0) * spill
