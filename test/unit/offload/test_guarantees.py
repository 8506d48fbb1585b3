"""Property tests of plans within a budget, against a replay of their logs (`recount.py`)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import parse_cost_graph, read_cost_graph
from meshloom.analysis.offload.bounds import lower_bound_ns
from meshloom.analysis.offload.budget_grid import budget_grid
from meshloom.analysis.offload.budget_grid_plans import BudgetGridPlans
from meshloom.analysis.offload.effort import Preset
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import NAMES, Kind, allowed_kinds
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.plan import plan_by_rule, plan_offload, plan_within, plans_for
from meshloom.analysis.offload.problem import offload_problem
from meshloom.analysis.offload.residency import residency
from meshloom.analysis.offload.rules import Rule, Thresholds
from meshloom.analysis.offload.simulate import IN, NEVER, OP
from meshloom.support.errors import InputError

from .recount import recount
from .training_graphs import chain_graph, training_graph

ALL = allowed_kinds(frozenset(("swap", "compress", "recompute")))
CHOICES = (ALL, (Kind.SWAP,), *(allowed_kinds(frozenset(pair)) for pair in itertools.combinations(NAMES, 2)))
GRAPHS = Path(__file__).parents[3] / "bench" / "data" / "graphs"
LINKS = (0.05e9, 1e9, 50e9)


def evaluator_of(graph: CostGraph, link: float = 1e9) -> Evaluator:
    return Evaluator(offload_problem(graph), Model(link, compress_rate=5e9))


def largest_working_set(graph: CostGraph) -> int:
    """The most bytes of the operands and results of one operation, which are in memory at the same time."""
    sizes = np.where(graph.counted, graph.size, 0)
    return max(sum(int(sizes[t]) for t in {*graph.inputs.row(op), *graph.outputs.row(op)}) for op in range(graph.ops))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(LINKS), st.floats(0, 1), st.sampled_from([ALL, (Kind.SWAP,)]))
def test_every_budget_down_to_the_largest_working_set_is_kept(
    seed: int, link: float, share: float, kinds: tuple[Kind, ...]
) -> None:
    graph = training_graph(seed)
    evaluator = evaluator_of(graph, link)
    problem, least = evaluator.problem, largest_working_set(graph)
    assert problem.smallest_budget == least
    budget = least + int(share * (problem.peak - least))
    plan = plan_offload(evaluator, budget, kinds, Preset.FAST)
    assert recount(problem, plan, evaluator.model) <= residency(evaluator, plan).peak <= budget
    assert lower_bound_ns(evaluator, kinds, budget) <= plan.time_ns
    for rule in (Rule.SLACK, Rule.SIZE, Rule.SPEC):
        by_rule = plan_by_rule(evaluator, budget, (Kind.SWAP,), rule, Thresholds(slack=-1))
        assert recount(problem, by_rule, evaluator.model) <= budget
        assert rule is not Rule.SLACK or plan.time_ns <= by_rule.time_ns, "never worse than the order of slack"
    if least > 0:
        with pytest.raises(InputError, match=f"the smallest budget that works is {least}"):
            plan_offload(evaluator, least - 1, kinds)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([("compress",), ("recompute",), ("compress", "recompute")]))
def test_without_swap_the_reported_smallest_budget_is_sufficient(seed: int, names: tuple[str, ...]) -> None:
    evaluator, kinds = evaluator_of(training_graph(seed)), allowed_kinds(frozenset(names))
    problem = evaluator.problem
    if problem.smallest_budget <= 1:
        return
    with pytest.raises(InputError) as refused:
        plan_offload(evaluator, 1, kinds, Preset.FAST)
    named = re.search(r"the smallest budget that works is (\d+)", str(refused.value))
    assert named is not None
    least = int(named[1])
    assert problem.smallest_budget <= least <= problem.peak
    for preset in Preset:
        plan = plan_offload(evaluator, least, kinds, preset)
        assert recount(problem, plan, evaluator.model) <= least
        with pytest.raises(InputError, match=f"the smallest budget that works is {least}"):
            plan_offload(evaluator, least - 1, kinds, preset)


def test_a_graph_without_operations_has_a_plan() -> None:
    evaluator = evaluator_of(parse_cost_graph({"tensors": [], "ops": []}))
    for kinds in (ALL, (Kind.SWAP,), (Kind.COMPRESS,)):
        assert plan_offload(evaluator, 1, kinds).time_ns == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(LINKS), st.floats(0, 1))
def test_kinds_together_are_never_worse_than_one_alone(seed: int, link: float, share: float) -> None:
    evaluator = evaluator_of(training_graph(seed), link)
    problem = evaluator.problem
    budget = problem.smallest_budget + int(share * (problem.peak - problem.smallest_budget))
    together = plan_offload(evaluator, budget, ALL, Preset.FAST)
    for name in ("swap", "compress", "recompute"):
        try:
            alone = plan_offload(evaluator, budget, allowed_kinds(frozenset((name,))), Preset.FAST)
        except InputError:
            continue
        assert together.time_ns <= alone.time_ns, name
        assert recount(problem, alone, evaluator.model) <= budget


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(CHOICES), st.lists(st.floats(0, 1), min_size=2, max_size=4))
def test_searches_for_other_budgets_change_no_plan(seed: int, kinds: tuple[Kind, ...], shares: list[float]) -> None:
    """One search for several budgets, in any order, gives the plans and the refusals of separate searches."""
    problem, model = offload_problem(training_graph(seed)), Model(1e9, compress_rate=5e9)
    known = BudgetGridPlans(Evaluator(problem, model), kinds, Preset.FAST, 0)
    for share in shares:
        budget = int(share * problem.peak)
        outcomes: list[tuple[list[int], int] | str] = []
        for plans in (known, BudgetGridPlans(Evaluator(problem, model), kinds, Preset.FAST, 0)):
            try:
                plan = plan_within(plans, budget)
                outcomes.append((plan.kind.tolist(), plan.time_ns))
            except InputError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


@pytest.mark.slow
def test_two_kinds_are_never_worse_than_one_of_them_on_a_network() -> None:
    """
    Compression and recomputation together take no more time than either alone.

    For this network, the search with both kinds, which has less work for each, finds a slower plan than that with
    compression alone.
    """
    problem = offload_problem(read_cost_graph(GRAPHS / "densenet121.json"))
    evaluator, budget = Evaluator(problem, Model(16e9)), problem.budget_bytes(0.8)
    together = plan_offload(evaluator, budget, allowed_kinds(frozenset(("compress", "recompute"))))
    assert recount(problem, together, evaluator.model) <= budget
    for name in ("compress", "recompute"):
        assert together.time_ns <= plan_offload(evaluator, budget, allowed_kinds(frozenset((name,)))).time_ns, name


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(LINKS), st.sampled_from([ALL, (Kind.SWAP,)]))
def test_more_memory_never_takes_more_time(seed: int, link: float, kinds: tuple[Kind, ...]) -> None:
    evaluator = evaluator_of(training_graph(seed), link)
    problem = evaluator.problem
    budgets = [max(problem.smallest_budget, step * problem.peak // 10) for step in range(1, 11)]
    times = [plan.time_ns for plan in plans_for(evaluator, budgets, kinds, Preset.FAST) if plan is not None]
    assert len(times) == 10
    assert times == sorted(times, reverse=True)
    assert times[-1] == problem.compute_ns


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(LINKS), st.sampled_from(CHOICES), st.sampled_from(Preset))
# A plan is found for the third budget of the grid, none for the second.
@example(4176045, 1e9, allowed_kinds(frozenset(("compress", "recompute"))), Preset.FAST)
def test_separate_calls_for_the_budget_grid_keep_their_order(
    seed: int, link: float, kinds: tuple[Kind, ...], preset: Preset
) -> None:
    evaluator = evaluator_of(training_graph(seed, most=8), link)
    budgets = budget_grid(evaluator.problem)
    times = [_time_or_never(evaluator, budget, kinds, preset) for budget in budgets]
    assert times == sorted(times), "the largest budget first"


def _time_or_never(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset) -> int:
    try:
        return plan_offload(evaluator, budget, kinds, preset).time_ns
    except InputError:
        assert Kind.SWAP not in kinds
        return NEVER


def test_separate_calls_keep_their_order_where_the_search_alone_does_not() -> None:
    problem = offload_problem(read_cost_graph(GRAPHS / "resnet50.json"))
    evaluator = Evaluator(problem, Model(16e9))
    budgets = [problem.budget_bytes(share) for share in (0.2, 0.25, 0.3, 0.35)]
    plans = [plan_offload(evaluator, budget, ALL, Preset.FAST) for budget in budgets]
    times = [plan.time_ns for plan in plans]
    assert times == sorted(times, reverse=True)
    smaller = [plan.limit < budget for plan, budget in zip(plans, budgets, strict=True)]
    assert any(smaller), "some plan is that of a smaller budget"


@pytest.mark.parametrize("name", [pytest.param("resnet50", marks=pytest.mark.slow), "lstm64"])
def test_separate_calls_for_a_network_keep_their_order(name: str) -> None:
    problem = offload_problem(read_cost_graph(GRAPHS / f"{name}.json"))
    evaluator = Evaluator(problem, Model(16e9))
    for kinds in (ALL, (Kind.SWAP,)):
        budgets = budget_grid(problem)
        times = [plan_offload(evaluator, budget, kinds, Preset.FAST).time_ns for budget in budgets]
        assert times == sorted(times), "the largest budget first"


def test_shares_of_the_peak_are_decimal() -> None:
    problem = offload_problem(chain_graph(1, size=100))
    for share in (0.29, 0.57, 0.58):
        # In binary floating-point, these shares are slightly smaller.
        assert problem.peak == 200
        assert problem.budget_bytes(share) == round(share * 200)
    assert problem.budget_bytes(1.0) == 200
    assert problem.budget_bytes(3.7) == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(LINKS))
def test_no_plan_of_a_small_graph_is_faster_than_the_bound(seed: int, link: float) -> None:
    evaluator = evaluator_of(training_graph(seed, most=4), link)
    problem = evaluator.problem
    if problem.gaps > 5:
        return
    for names in (("swap",), ("swap", "compress"), ("recompute",), ("swap", "compress", "recompute")):
        kinds = allowed_kinds(frozenset(names))
        for budget in {problem.smallest_budget, (problem.smallest_budget + problem.peak) // 2}:
            choices = itertools.product((int(Kind.KEEP), *map(int, kinds)), repeat=problem.gaps)
            least = min(evaluator.makespan(np.array(plan, np.int64), budget)[0] for plan in choices)
            assert lower_bound_ns(evaluator, kinds, budget) <= least
            if names == ("swap",):
                found = plan_offload(evaluator, budget, kinds)
                assert found.time_ns == least < NEVER, "the search finds the best of few plans"


def test_more_effort_never_finds_a_slower_plan() -> None:
    for seed in range(6):
        evaluator = evaluator_of(training_graph(seed))
        budget = (evaluator.problem.smallest_budget + evaluator.problem.peak) // 2
        fast, normal = (plan_offload(evaluator, budget, ALL, preset) for preset in Preset)
        assert normal.time_ns <= fast.time_ns


def test_recomputation_one_operation_ahead_saves_memory() -> None:
    """
    Recomputation one operation ahead fits a budget that recomputation directly before the use exceeds.

    y (3 bytes) is computed from x through w (6 bytes). Operation 5 computes c (4 bytes), which operation 6 reads
    together with y. w does not fit into 13 bytes together with c, but before c is computed it does.
    """
    sizes = {"x": 1, "w": 6, "y": 3, "a": 9, "b": 1, "c": 4, "d": 1}
    number = {name: index for index, name in enumerate(sizes)}
    rows = [("", "x"), ("x", "w"), ("w", "y"), ("y", "a"), ("a", "b"), ("bx", "c"), ("cxy", "d")]
    graph = parse_cost_graph(
        {
            "tensors": [{"id": number[name], "kind": "act", "size": size} for name, size in sizes.items()],
            "ops": [
                {"id": op, "unit": "MPU", "dur_ns": 10, "ins": [number[name] for name in ins], "outs": [number[out]]}
                for op, (ins, out) in enumerate(rows)
            ],
        }
    )
    evaluator = evaluator_of(graph)
    problem = evaluator.problem
    gap = next(g for g in range(problem.gaps) if problem.tensor[g] == number["y"])
    assert (problem.before[gap], problem.after[gap]) == (3, 6)
    times: dict[Kind, int] = {}
    for kind in (Kind.RECOMPUTE, Kind.RECOMPUTE_AHEAD):
        plan = np.zeros(problem.gaps, np.int64)
        plan[gap] = kind
        times[kind], _ = evaluator.makespan(plan, 13)
    assert times == {Kind.RECOMPUTE: NEVER, Kind.RECOMPUTE_AHEAD: 7 * 10 + 2 * 10}


def test_the_same_seed_gives_the_same_plan() -> None:
    evaluator = evaluator_of(training_graph(7))
    budget = (evaluator.problem.smallest_budget + evaluator.problem.peak) // 2
    first, second = (plan_offload(evaluator, budget, ALL, seed=3) for _ in range(2))
    assert np.array_equal(first.kind, second.kind)
    assert np.array_equal(first.log, second.log)


def test_copies_end_before_the_next_use() -> None:
    """Copies, which take half as long as an operation, run concurrently with operations and end before the next use."""
    evaluator = evaluator_of(chain_graph(20), 2e9)
    plan = plan_offload(evaluator, evaluator.problem.peak * 6 // 10, (Kind.SWAP,))
    assert plan.time_ns == evaluator.problem.compute_ns
    starts = {op: start for what, op, start, _ in plan.log.tolist() if what == OP}
    arrivals = [(gap, end) for what, gap, _, end in plan.log.tolist() if what == IN]
    assert arrivals
    assert all(end <= starts[int(evaluator.problem.after[gap])] for gap, end in arrivals)


def test_fixed_offsets_stay_within_the_budget_and_never_overlap() -> None:
    evaluator = evaluator_of(chain_graph(20, size=1024), 2e9)
    budget = evaluator.problem.peak * 6 // 10
    held = residency(evaluator, plan_offload(evaluator, budget, (Kind.SWAP,)))
    places = held.offsets()
    assert places.peak <= budget
    for one, other in itertools.combinations(range(len(held.size)), 2):
        apart_in_time = held.end[one] <= held.start[other] or held.end[other] <= held.start[one]
        low, high = sorted((one, other), key=lambda buffer: int(places.offsets[buffer]))
        assert apart_in_time or places.offsets[low] + held.size[low] <= places.offsets[high]


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_ten_thousand_random_graphs_without_deadlock(block: int) -> None:
    for seed in range(500 * block, 500 * (block + 1)):
        evaluator = evaluator_of(training_graph(seed), LINKS[seed % 3])
        problem = evaluator.problem
        budget = problem.smallest_budget + (seed % 7) * (problem.peak - problem.smallest_budget) // 7
        plan = plan_offload(evaluator, budget, ALL if seed % 2 else (Kind.SWAP,), Preset.FAST, seed)
        assert recount(problem, plan, evaluator.model) <= budget
