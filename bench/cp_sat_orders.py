"""Orders by CP-SAT (OR-Tools): the peer of order search. Needs ortools."""

from __future__ import annotations

from typing import Any

import numpy as np
from meshloom.analysis.cost_graphs.graph import Ints
from meshloom.analysis.orders.problem import OrderProblem
from meshloom.analysis.orders.simulate import Timeline
from ortools.sat.python import cp_model


def solve(problem: OrderProblem, seconds: float, hint: Timeline | None = None, workers: int = 2) -> dict[str, object]:
    """
    The best makespan found in `seconds`, the bound proven, and the starts; no makespan where none was found.

    `hint` is a schedule to begin with.
    """
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
    return {
        "makespan": round(solver.objective_value) if found else None,
        "bound": round(solver.best_objective_bound),
        "proven": status == cp_model.OPTIMAL,
        "starts": order_of(np.array([solver.value(start) for start in starts], np.int64)) if found else None,
    }


def order_of(starts: Ints) -> Ints:
    """Operations by start; those of equal start by number, which is topological."""
    return np.argsort(starts, kind="stable").astype(np.int64)
