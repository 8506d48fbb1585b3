"""Property tests of the simulation of an order, against a simple one in Python; bounds; memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.cost_graphs.read import parse_cost_graph
from meshloom.analysis.orders.bounds import unit_bound
from meshloom.analysis.orders.problem import problem_of
from meshloom.analysis.orders.simulate import serial_peak, simulate
from meshloom.analysis.orders.topological import random_order, topological_orders

from .graphs import alive, random_graph, run_slowly


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 25))
def test_start_times_equal_those_of_the_simple_simulation(seed: int, count: int) -> None:
    graph = random_graph(seed, count)
    problem = problem_of(graph)
    order = np.empty(count, np.int64)
    random_order(problem.arrays, seed, order)
    timeline = simulate(problem, order)
    assert timeline is not None
    assert timeline.start.tolist() == run_slowly(problem, order.tolist())
    peak = serial_peak(problem, order)
    for cap in {peak + 10, peak + 3, peak, max(peak - 1, 0)}:
        capped = problem_of(graph, cap)
        run, expected = simulate(capped, order), run_slowly(capped, order.tolist())
        assert (None if run is None else run.start.tolist()) == expected
        assert (run is not None) == (cap >= peak)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 20))
def test_peak_is_the_largest_sum_of_live_bytes(seed: int, count: int) -> None:
    problem = problem_of(random_graph(seed, count, zeros=False))
    order = np.empty(count, np.int64)
    random_order(problem.arrays, seed, order)
    run = simulate(problem, order)
    assert run is not None
    at_most = 0
    for now in range(run.makespan):
        begun = {op: int(run.start[op]) for op in range(count) if run.start[op] <= now}
        at_most = max(at_most, alive(problem, begun, {op: int(run.end[op]) for op in begun}, now))
    assert run.peak == at_most


@pytest.mark.parametrize("seed", range(20))
def test_no_order_is_below_the_bounds(seed: int) -> None:
    problem = problem_of(random_graph(seed, 7))
    makespans: list[int] = []
    for order in topological_orders(problem):
        run = simulate(problem, order)
        assert run is not None
        makespans.append(run.makespan)
    assert problem.bound <= unit_bound(problem) <= min(makespans)


def test_four_operations_on_two_units() -> None:
    """b (VPU, 3 ns) and c (MPU, 5 ns) read a (MPU, 4 ns); d (VPU, 2 ns) reads both: they take 4 + 5 + 2 = 11 ns."""
    sizes = [10, 20, 30, 40]
    units, reads, times = ["MPU", "VPU", "MPU", "VPU"], [[], [0], [0], [1, 2]], [4, 3, 5, 2]
    graph = parse_cost_graph(
        {
            "tensors": [{"id": i, "size": size, "kind": "act"} for i, size in enumerate(sizes)],
            "ops": [{"id": i, "unit": units[i], "ins": reads[i], "outs": [i], "dur_ns": times[i]} for i in range(4)],
        }
    )
    run = simulate(problem_of(graph), np.arange(4))
    assert run is not None
    assert run.start.tolist() == [0, 4, 4, 9]
    assert run.makespan == 11
    assert run.peak == 20 + 30 + 40  # a is freed at the end of c, before d starts
    # With 10 + 20 + 30 - 1 bytes, c waits until a is freed, which is at the end of c itself.
    assert simulate(problem_of(graph, 59), np.arange(4)) is None
    assert problem_of(graph).critical_path == 11
    assert problem_of(graph).unit_loads.tolist() == [9, 5]


def test_empty() -> None:
    problem = problem_of(parse_cost_graph({"tensors": [], "ops": []}))
    run = simulate(problem, np.zeros(0, np.int64))
    assert run is not None
    assert (run.makespan, run.peak, problem.bound) == (0, 0, 0)
