"""
Tests of searches for orders: examples of the specification, exhaustive search on small graphs, and invariants of each
method.
"""

from __future__ import annotations

from itertools import permutations
from math import inf
from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import parse_cost_graph, read_cost_graph
from meshloom.analysis.cost_graphs.select import forward_graph, with_weight_loads
from meshloom.analysis.orders.least_memory import least_peak_found
from meshloom.analysis.orders.plan import METHODS, Method, plan_order, search_of
from meshloom.analysis.orders.problem import NO_CAP, OrderProblem, problem_of
from meshloom.analysis.orders.search import Effort, UnitCost
from meshloom.analysis.orders.segments import best_alone, linked_order, segments_of
from meshloom.analysis.orders.simple import exhaustive
from meshloom.analysis.orders.simulate import makespan_of, serial_peak
from meshloom.analysis.orders.topological import topological_orders
from meshloom.support.errors import InputError, MeshloomError
from numpy.typing import NDArray

from .graphs import FIGURE_1, FIGURE_3, alive, figure, random_graph, run_slowly

GRAPHS = Path(__file__).resolve().parents[3] / "bench" / "data" / "graphs"


def is_topological(problem: OrderProblem, order: NDArray[np.int64]) -> bool:
    """Whether `order` has every operation once, each after its predecessors."""
    if not np.array_equal(np.sort(order), np.arange(problem.ops)):
        return False
    position = np.empty(problem.ops, np.int64)
    position[order] = np.arange(problem.ops)
    edges = problem.predecessors
    return bool((position[edges.values] < position[edges.rows]).all())


def named(graph: CostGraph, order: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([graph.op_names.index(name) for name in order], np.int64)


def test_figure_1_has_both_orders() -> None:
    graph = figure(FIGURE_1)
    problem = problem_of(graph)
    upper, lower = ["conv1", "matmul", "mean", "add1"], ["conv2", "axpy", "sub", "add2"]
    first = named(graph, ["relu", *upper, *lower, "softmax"])
    second = named(graph, ["relu", *lower, *upper, "softmax"])
    assert is_topological(problem, first)
    assert is_topological(problem, second)
    orders = {tuple(order.tolist()) for order in topological_orders(problem)}
    assert {tuple(first.tolist()), tuple(second.tolist())} <= orders
    assert len(orders) == 70  # all interleavings of two chains of four: 8 over 4
    assert not is_topological(problem, first[::-1])


def test_figure_3_has_exactly_two_orders() -> None:
    graph = figure(FIGURE_3)
    orders = [[graph.op_names[int(op)] for op in order] for order in topological_orders(problem_of(graph))]
    assert orders == [["conv", "matmul", "mean", "softmax"], ["conv", "mean", "matmul", "softmax"]]


@pytest.mark.parametrize("seed", range(12))
def test_orders_are_all_permutations_that_respect_dependencies(seed: int) -> None:
    problem = problem_of(random_graph(seed, 6))
    edges = list(zip(problem.predecessors.values.tolist(), problem.predecessors.rows.tolist(), strict=True))
    good = {p for p in permutations(range(6)) if all(p.index(a) < p.index(b) for a, b in edges)}
    assert {tuple(order.tolist()) for order in topological_orders(problem)} == good


def brute_force(problem: OrderProblem) -> float:
    """The least makespan over all orders, by `run_slowly`."""
    best = inf
    for order in topological_orders(problem):
        start = run_slowly(problem, order.tolist())
        if start is not None:
            best = min(best, max(np.array(start) + problem.duration))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_exhaustive_and_default_are_optimal_on_small_graphs(seed: int) -> None:
    graph = random_graph(seed, 7, units=2, zeros=False)
    free = plan_order(graph, "exhaustive")
    assert free.timeline.makespan == brute_force(problem_of(graph))
    assert plan_order(graph).timeline.makespan == free.timeline.makespan
    cap = least_peak_found(problem_of(graph))
    tight = plan_order(graph, "exhaustive", cap)
    assert tight.timeline.makespan == brute_force(problem_of(graph, cap))
    assert plan_order(graph, "default", cap).timeline.makespan <= tight.timeline.makespan * 1.1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_an_order_within_memory(method: Method) -> None:
    """The order is topological; start times and bytes equal those of `run_slowly` and `alive`."""
    for seed in range(3):
        graph = random_graph(seed, 9 if method == "exhaustive" else 30, zeros=False)
        program_order = np.arange(graph.ops, dtype=np.int64)
        least = serial_peak(problem_of(graph), program_order)
        for cap in (NO_CAP, plan_order(graph, "program").timeline.peak, least if method != "random" else least + 40):
            if cap < NO_CAP and method in {"program", "random"} and serial_peak(problem_of(graph), program_order) > cap:
                continue
            plan = plan_order(graph, method, cap, seed=seed)
            run, problem = plan.timeline, problem_of(graph, cap)
            assert is_topological(problem, run.order)
            assert run.start.tolist() == run_slowly(problem, run.order.tolist())
            assert run.makespan >= plan.proven_bound >= plan.bound
            begin = {op: int(run.start[op]) for op in range(graph.ops)}
            for now in set(run.start.tolist()):
                begun = {op: time for op, time in begin.items() if time <= now}
                assert alive(problem, begun, {op: int(run.end[op]) for op in begun}, now) <= min(cap, run.peak)
            again = plan_order(graph, method, cap, seed=seed)
            assert again.timeline.order.tolist() == run.order.tolist()
            if method not in {"program", "random"}:
                assert run.makespan <= makespan_of(problem, np.arange(graph.ops))


def test_a_limit_without_an_order_is_refused_with_a_sufficient_one() -> None:
    graph = random_graph(3, 30)
    with pytest.raises(MeshloomError, match="the smallest limit for which one was found is") as error:
        plan_order(graph, cap=5)
    number = int(str(error.value).rsplit(" ", 1)[1].replace(",", ""))
    assert plan_order(graph, cap=number).timeline.peak <= number
    with pytest.raises(MeshloomError, match="smallest"):
        plan_order(graph, cap=number - 1)


def test_a_method_that_finds_no_order_is_an_error() -> None:
    """
    The error of a method that finds no order within the limit states the method.

    In the program's order two large values are live at once; the default method frees one before it computes the other.
    """
    tensors = [{"id": i, "size": 100 if i < 2 else 1, "kind": "act"} for i in range(4)]
    reads = [[], [], [0], [1]]
    ops = [{"id": i, "unit": "A", "ins": ins, "outs": [i], "dur_ns": 1} for i, ins in enumerate(reads)]
    graph = parse_cost_graph({"tensors": tensors, "ops": ops})
    assert plan_order(graph, cap=110).timeline.peak <= 110
    with pytest.raises(MeshloomError, match="method 'program' found no order"):
        plan_order(graph, "program", 110)


def test_too_many_orders_are_refused() -> None:
    with pytest.raises(InputError, match="more than 20,000 orders"):
        exhaustive(UnitCost(problem_of(random_graph(5, 40))), Effort(100))


class CountedCost(UnitCost):
    """A cost that counts how many orders it is asked about."""

    asked = 0

    def cost(self, order: NDArray[np.int64]) -> float:
        self.asked += 1
        return super().cost(order)


def test_a_search_stops_at_the_first_good_order() -> None:
    graph = random_graph(1, 40)
    for good, fewest, most in ((1e9, 1, 1), (0.0, 10, 1000)):
        cost = CountedCost(problem_of(graph))
        assert search_of("random")(cost, Effort(100_000, good=good)) is not None
        assert fewest <= cost.asked <= most
    assert plan_order(graph, "random", stop_at=1e9).timeline.makespan >= plan_order(graph, "random").timeline.makespan


def test_the_default_order_is_at_most_as_long_as_the_program() -> None:
    graph = random_graph(1, 40)
    assert plan_order(graph).timeline.makespan <= plan_order(graph, "program").timeline.makespan


@pytest.mark.parametrize("name", ["resnet50", "lstm64", "vgg16"])
def test_real_graphs(name: str) -> None:
    """With loads of weights, at three limits on memory, makespans are within 1% of the recorded ratios to the bound."""
    ours = {"resnet50": 1.0532, "lstm64": 1.0231, "vgg16": 1.0001}
    graph = with_weight_loads(forward_graph(read_cost_graph(GRAPHS / f"{name}.json")), 100e9)
    peak = plan_order(graph, "program").timeline.peak
    for cap in (NO_CAP, peak, peak * 8 // 10):
        plan = plan_order(graph, cap=cap)
        assert plan.timeline.makespan <= ours[name] * plan.bound * 1.01
        assert plan.timeline.peak <= cap


def test_segments_need_no_barrier() -> None:
    """ResNet-50 has more than 30 segments, also with loads of weights; linking them costs no more than barriers do."""
    graph = with_weight_loads(forward_graph(read_cost_graph(GRAPHS / "resnet50.json")), 100e9)
    parts = segments_of(graph)
    assert len(parts) > 30
    assert sorted(np.concatenate(parts).tolist()) == list(range(graph.ops))
    problem = problem_of(graph)
    order = linked_order(problem, parts)
    assert order is not None
    assert is_topological(problem, order)
    alone = [problem.part(part) for part in parts]
    assert makespan_of(problem, order) <= sum(makespan_of(one, best_alone(one)) for one in alone)
    for cap in (NO_CAP, 400_000_000):
        linked, whole = plan_order(graph, "segments", cap), plan_order(graph, "list", cap)
        assert linked.timeline.makespan <= whole.timeline.makespan
