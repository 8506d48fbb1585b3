"""
Swaps under a limit on memory by CP-SAT (OR-Tools): the peer of planning with kind `swap` alone. Needs ortools.

The model is the planner's: operations one after the other in the graph's order, one copy to the host and one from it
at a time, a tensor copied out once (at any time after its producer) for all gaps in which it leaves. Operations must
take time: the solver sees no memory in use for no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.problem import OffloadProblem
from ortools.sat.python import cp_model


@dataclass(frozen=True)
class Solution:
    """The result of the solver, times in ns."""

    time_ns: int | None
    """None if it found no schedule."""
    bound_ns: int
    """Whether the schedule is proven optimal."""


def solve(problem: OffloadProblem, budget: int, link: float, seconds: float, workers: int = 2) -> Solution:
    """The best schedule found in `seconds`, with `budget` bytes of memory and `link` bytes a second each way."""
    return _Search(problem, budget, link).solve(seconds, workers)


class _Search:
    def __init__(self, problem: OffloadProblem, budget: int, link: float):
        self.problem = problem
        self.model: Any = cp_model.CpModel()
        self.copy_ns = Model(link).copy_ns(problem.size).tolist()
        # Upper bound: the schedule in which no copy overlaps with anything.
        self.horizon = problem.compute_ns + 2 * sum(self.copy_ns)
        duration = problem.duration.tolist()
        self.starts: list[Any] = [self._time() for _ in duration]
        self.ends: list[Any] = [start + length for start, length in zip(self.starts, duration, strict=True)]
        for end, start in zip(self.ends[:-1], self.starts[1:], strict=True):
            self.model.add(start >= end)
        self.outs, self.ins = list[Any](), list[Any]()
        self.lives, self.sizes = list[Any](), list[int]()
        graph = problem.graph
        for tensor in np.flatnonzero(graph.counted & (graph.size > 0)).tolist():
            self._add_tensor(tensor, int(graph.size[tensor]))
        self.model.add_no_overlap(self.outs)
        self.model.add_no_overlap(self.ins)
        unit = int(np.gcd.reduce(np.array(self.sizes, np.int64)))
        self.model.add_cumulative(self.lives, [size // unit for size in self.sizes], budget // unit)
        self.model.minimize(self.ends[-1])

    def _time(self) -> Any:
        return self.model.new_int_var(0, self.horizon, "")

    def _add_tensor(self, tensor: int, size: int) -> None:
        """The intervals of a tensor in memory (before, between and after gaps), and the copies of swapped gaps."""
        problem, model = self.problem, self.model
        gaps = sorted(np.flatnonzero(problem.tensor == tensor).tolist(), key=lambda gap: int(problem.before[gap]))
        producer = int(problem.graph.producer[tensor])
        begin: Any = self.starts[producer]
        swapped = [model.new_bool_var("") for _ in gaps]
        copied: Any = self._time()
        if gaps:
            leaves, took = model.new_bool_var(""), self.copy_ns[gaps[0]]
            model.add_max_equality(leaves, swapped)
            self.outs.append(model.new_optional_interval_var(copied - took, took, copied, leaves, ""))
            model.add(copied - took >= self.ends[producer])
            model.add(copied - took == self.ends[producer]).only_enforce_if(~leaves)
        for gap, swap in zip(gaps, swapped, strict=True):
            before, after, took = int(problem.before[gap]), int(problem.after[gap]), self.copy_ns[gap]
            gone, back = self._time(), self._time()
            model.add(gone >= self.ends[before])
            # The intervals of a tensor that is not swapped are contiguous; fixed borders avoid equivalent schedules.
            model.add(gone == self.ends[before]).only_enforce_if(~swap)
            model.add(back == gone).only_enforce_if(~swap)
            model.add(gone >= copied).only_enforce_if(swap)
            model.add(back >= gone)
            model.add(back + took <= self.starts[after]).only_enforce_if(swap)
            self.ins.append(model.new_optional_interval_var(back, took, back + took, swap, ""))
            self._stay(begin, gone, size)
            begin = back
        self._stay(begin, self.ends[int(problem.last_use[tensor])], size)

    def _stay(self, begin: Any, end: Any, size: int) -> None:
        self.lives.append(self.model.new_interval_var(begin, self._time(), end, ""))
        self.sizes.append(size)

    def solve(self, seconds: float, workers: int) -> Solution:
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = workers
        solver.parameters.random_seed = 0
        found = solver.solve(self.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        return Solution(round(solver.objective_value) if found else None, round(solver.best_objective_bound))
