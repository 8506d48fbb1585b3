"""Orders by CP-SAT (OR-Tools): the peer of order search. Needs ortools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from meshloom.analysis.cost_graphs.graph import Ints
from meshloom.analysis.orders.problem import OrderProblem
from meshloom.analysis.orders.simulate import Timeline
from ortools.sat.python import cp_model


@dataclass(frozen=True)
class Solution:
    """The result of the solver."""

    makespan: int | None
    """None if it found no schedule."""
    bound: int
    """Whether the schedule is proven optimal."""
    order: Ints | None
    """Operations in the order of their starts."""


def solve(problem: OrderProblem, seconds: float, hint: Timeline | None = None, workers: int = 2) -> Solution:
    """The best schedule found in `seconds`; `hint` is the initial schedule."""
    model = cp_model.CpModel()
    horizon = int(problem.duration.sum()) if hint is None else hint.makespan
    starts: list[Any] = [model.new_int_var(0, horizon - int(duration), "") for duration in problem.duration]
    ends: list[Any] = [starts[op] + int(problem.duration[op]) for op in range(problem.ops)]
    for unit in range(len(problem.unit_names)):
        model.add_no_overlap(
            model.new_fixed_size_interval_var(starts[op], int(problem.duration[op]), "")
            for op in np.flatnonzero(problem.unit == unit).tolist()
        )
    for op in range(problem.ops):
        for before in problem.predecessors[op].tolist():
            model.add(starts[op] >= ends[before])
    span: Any = model.new_int_var(problem.bound, horizon, "makespan")
    model.add_max_equality(span, ends)
    if problem.capped:
        readers = problem.reads.transposed(len(problem.size))
        lives, sizes = list[cp_model.IntervalVar](), list[int]()
        for value, producer in enumerate(problem.producer.tolist()):
            death: Any = model.new_int_var(0, horizon, "")
            length: Any = model.new_int_var(0, horizon, "")
            for op in readers[value].tolist() or [None]:
                model.add(death >= (span if op is None else ends[op]))
            lives.append(model.new_interval_var(starts[producer], length, death, ""))
            sizes.append(int(problem.size[value]))
        unit = int(np.gcd.reduce(np.array(sizes, np.int64)))
        model.add_cumulative(lives, [size // unit for size in sizes], problem.cap // unit)
    model.minimize(span)
    if hint is not None:
        for op, start in enumerate(hint.start.tolist()):
            model.add_hint(starts[op], start)
        model.add_hint(span, hint.makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    if not found:
        return Solution(None, round(solver.best_objective_bound), None)
    # Operations with equal starts are ordered by number, which is a topological order.
    order = np.argsort([solver.value(start) for start in starts], kind="stable").astype(np.int64)
    return Solution(round(solver.objective_value), round(solver.best_objective_bound), order)
