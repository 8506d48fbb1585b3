"""Functions rewritten for a budget: same results, never more memory, no slower than planned."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.from_dataflow import cost_graph_of
from meshloom.analysis.interpret import make_inputs, run_main
from meshloom.analysis.offload.problem import offload_problem
from meshloom.analysis.offload_steps.from_function import ChipCosts, function_steps
from meshloom.analysis.offload_steps.memory_profile import memory_profile
from meshloom.analysis.offload_steps.steps import Program, execute
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.memory import Format
from meshloom.support.errors import InputError
from meshloom.transforms.dataflow_differentiate import DataflowDifferentiatePass
from meshloom.transforms.offload.budget import insert_for_budget
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from .functions import parse, perceptron, random_function

COSTS = ChipCosts(load_chip("tiny"), link=2e9, compress_rate=4e9)
KINDS = [{"swap"}, {"compress"}, {"recompute"}, {"swap", "recompute"}, {"swap", "compress", "recompute"}]


def equal(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> bool:
    """Every bit."""
    return list(before) == list(after) and all(before[name].tobytes() == after[name].tobytes() for name in before)


def training_step() -> ModuleOp:
    module = parse(perceptron(layers=6, batch=64, width=16))
    DataflowDifferentiatePass(loss="mean-squared-error", momentum=0.9).apply(Context(), module)
    return module


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "+".join(sorted(kinds)))
@pytest.mark.parametrize("share", [0.8, 0.6, 0.45])
def test_training_step(kinds: set[str], share: float) -> None:
    """The peak before is what planning says, the one after below the budget; swap and recomputation keep every bit."""
    module = training_step()
    inputs = make_inputs(module)
    expected = run_main(module, inputs)
    problem = offload_problem(cost_graph_of(find_main(module), COSTS.chip))
    assert memory_profile(find_main(module), COSTS).peak == problem.peak
    try:
        plan = insert_for_budget(find_main(module), COSTS, share, frozenset(kinds), Format.F16)
    except InputError:
        assert kinds == {"compress"} or kinds == {"recompute"}
        return
    module.verify()
    after = memory_profile(find_main(module), COSTS)
    assert plan is not None
    assert after.peak <= int(share * problem.peak)
    assert problem.compute_ns <= after.time_ns <= plan.time_ns
    found = run_main(module, inputs)
    if "compress" not in kinds:
        assert equal(expected, found)
    else:
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=2e-2 * np.abs(value).max(initial=0))


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_at_the_smallest_budgets(seed: int) -> None:
    """Swap at the largest working set: exact, and below the budget whatever the steps really take."""
    chance = random.Random(seed)
    module = parse(random_function(seed, 40))
    problem = offload_problem(cost_graph_of(find_main(module), COSTS.chip))
    budget = chance.choice([problem.smallest_budget, (problem.smallest_budget + problem.peak) // 2])
    inputs = make_inputs(module)
    expected = run_main(module, inputs)
    kinds = frozenset({"swap", *chance.sample(["recompute", "compress"], chance.randrange(3))})
    plan = insert_for_budget(find_main(module), COSTS, float(max(budget, 2)), kinds, Format.F16)
    module.verify()
    steps = function_steps(find_main(module).body.block, COSTS).program
    assert execute(steps).peak() <= budget
    if plan is not None and kinds == frozenset({"swap"}):
        assert execute(steps).time_ns <= plan.time_ns
    for _ in range(20):
        assert execute(disturbed(steps, chance)).peak() <= budget
    if "compress" not in kinds:
        assert equal(expected, run_main(module, inputs))


def disturbed(program: Program, chance: random.Random) -> Program:
    """Other durations: some steps hundreds of times longer, some take no time."""
    factors = [chance.choice([0, 0.1, 1, 10, 300]) for _ in program.steps]
    steps = [replace(step, ns=int(step.ns * factor)) for step, factor in zip(program.steps, factors, strict=True)]
    return Program(tuple(steps), program.buffers)


def test_waits_matter() -> None:
    """Without its control edges the same function needs more than the budget."""
    module = training_step()
    insert_for_budget(find_main(module), COSTS, 0.5, frozenset({"swap"}), Format.F16)
    steps = function_steps(find_main(module).body.block, COSTS).program
    free = Program(tuple(replace(step, waits=()) for step in steps.steps), steps.buffers)
    assert execute(free).peak() > execute(steps).peak()


def test_no_wait_follows_from_others() -> None:
    """For every wait there are durations with which the step would begin before it: all else takes no time."""
    module = training_step()
    insert_for_budget(find_main(module), COSTS, 0.5, frozenset({"swap", "recompute"}), Format.F16)
    program = function_steps(find_main(module).body.block, COSTS).program
    for number, step in enumerate(program.steps):
        for wait in step.waits:
            rest = replace(step, waits=tuple(other for other in step.waits if other != wait))
            steps = [replace(one, ns=int(index == wait)) for index, one in enumerate(program.steps)]
            steps[number] = replace(rest, ns=0)
            execution = execute(Program(tuple(steps), ()))
            assert execution.start[number] < execution.end[wait]


def test_all_fits() -> None:
    """Nothing changes where the budget is the peak."""
    module = training_step()
    before = str(module)
    assert insert_for_budget(find_main(module), COSTS, 1.0, frozenset({"swap"}), Format.F16) is None
    assert str(module) == before
