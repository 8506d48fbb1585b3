"""Property test of plans and bounds against proven optimal schedules of swaps, by a constraint solver (CP-SAT)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from cp_sat_swaps import solve
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from meshloom.analysis.offload.bounds import lower_bound_ns
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import Kind
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.plan import plan_offload
from meshloom.analysis.offload.problem import OffloadProblem, offload_problem

from .training_graphs import training_graph

LINK = 2e9
"""Bytes per second: copies of the largest tensors take longer than the longest operations."""


def problem_from(seed: int) -> OffloadProblem:
    """A small problem in which memory can be saved: that of the first seed from `seed` on that gives one."""
    while True:
        graph = training_graph(seed, most=4)
        problem = offload_problem(replace(graph, duration=np.maximum(graph.duration, 1)))
        if problem.gaps and problem.smallest_budget < problem.peak:
            return problem
        seed += 1


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_the_optimum_is_between_bound_and_plan(seed: int, share: float) -> None:
    problem = problem_from(seed)
    budget = problem.smallest_budget + int(share * (problem.peak - problem.smallest_budget))
    best = solve(problem, budget, LINK, seconds=5, workers=1)
    assume(best.time_ns == best.bound_ns)
    evaluator = Evaluator(problem, Model(LINK))
    plan = plan_offload(evaluator, budget, (Kind.SWAP,))
    assert best.time_ns is not None
    assert lower_bound_ns(evaluator, (Kind.SWAP,), budget) <= best.time_ns <= plan.time_ns
