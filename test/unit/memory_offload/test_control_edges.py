"""No control edge is missing, none is superfluous, and nothing waits for ever: on random functions."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace

import pytest
from meshloom.analysis.cost_graphs.from_dataflow import cost_graph_of
from meshloom.analysis.offload.effort import Preset
from meshloom.analysis.offload.evaluate import Evaluator
from meshloom.analysis.offload.kinds import Kind, allowed_kinds
from meshloom.analysis.offload.plan import plan_offload
from meshloom.analysis.offload.problem import offload_problem
from meshloom.analysis.offload_steps.from_function import IN, ChipCosts, function_steps
from meshloom.analysis.offload_steps.steps import Program
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.memory import Format
from meshloom.transforms.offload.budget import FormatModel, insert_plan

from .functions import parse, random_function

COSTS = ChipCosts(load_chip("tiny"), link=2e9, compress_rate=4e9)
MODEL = FormatModel(COSTS.link, COSTS.compress_rate, format=Format.F16)
KINDS = (("swap",), ("swap", "recompute"))


def saved(seed: int) -> tuple[Program, int]:
    """The steps of a random function below a budget of bytes, as the operations of the block give them."""
    chance = random.Random(seed)
    function = find_main(parse(random_function(seed, chance.randrange(6, 16))))
    problem = offload_problem(cost_graph_of(function, COSTS.chip))
    least, peak = problem.smallest_budget, problem.peak
    budget = least + chance.choice([0, 0, 1, 2, 3]) * (peak - least) // 4
    kinds = allowed_kinds(frozenset(chance.choice(KINDS)))
    plan = plan_offload(Evaluator(problem, MODEL), budget, kinds, Preset.FAST, seed)
    if any(kind != Kind.KEEP for kind in plan.kind):
        insert_plan(function, COSTS, problem, plan, budget, Format.F16)
    return function_steps(function.body.block, COSTS).program, budget


def ancestors(program: Program) -> list[frozenset[int]]:
    """What is complete when a step starts, whatever steps take: what it needs, waits for, and what its queues hold."""
    last: dict[str, int] = {}
    found: list[frozenset[int]] = []
    for number, step in enumerate(program.steps):
        before = {*step.needs, *step.waits, *(last[queue] for queue in step.queues if queue in last)}
        found.append(frozenset(before).union(*(found[one] for one in before)))
        last |= dict.fromkeys(step.queues, number)
    return found


def most_memory(program: Program) -> int:
    """
    The most bytes in the worst moments that there may be: for each step, what it follows is complete and nothing else
    is, and all that may have begun by then has.
    """
    before, most = ancestors(program), 0
    for done in before:
        begun = {number for number, needed in enumerate(before) if needed <= done}
        held = [one for one in program.buffers if one.maker in begun and not done.issuperset(one.users)]
        most = max(most, sum(one.nbytes for one in held if one.place == "device"))
    return most


def without(program: Program, number: int, wait: int) -> Program:
    steps = list(program.steps)
    steps[number] = replace(steps[number], waits=tuple(one for one in steps[number].waits if one != wait))
    return Program(tuple(steps), program.buffers)


def all_complete(program: Program) -> bool:
    """Whether every step runs when each queue takes its steps in order, as soon as they may begin."""
    queues: dict[str, list[int]] = defaultdict(list)
    for number, step in enumerate(program.steps):
        for queue in step.queues:
            queues[queue].append(number)
    done: set[int] = set()
    moved = True
    while moved:
        moved = False
        for number, step in enumerate(program.steps):
            first = all(queues[queue][0] == number for queue in step.queues if number not in done)
            if number not in done and first and done.issuperset((*step.needs, *step.waits)):
                done.add(number)
                for queue in step.queues:
                    queues[queue].pop(0)
                moved = True
    return len(done) == len(program.steps)


@dataclass
class Edges:
    """Control edges that were looked at."""

    memory: int = 0
    prefetch: int = 0


def check(seed: int, edges: Edges) -> None:
    program, budget = saved(seed)
    assert all_complete(program)
    assert most_memory(program) <= budget, "an edge is missing"
    for number, step in enumerate(program.steps):
        for wait in step.waits:
            less = without(program, number, wait)
            assert wait not in ancestors(less)[number], "the edge follows from others"
            if most_memory(less) > budget:
                edges.memory += 1
            else:
                # Nothing but memory keeps other steps waiting; copies from the host are not to begin too early.
                assert step.queues == (IN,), "nothing is gained by the edge"
                edges.prefetch += 1


def test_control_edges_of_random_functions() -> None:
    edges = Edges()
    for seed in range(40):
        check(seed, edges)
    assert edges.memory
    assert edges.prefetch


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_control_edges_of_ten_thousand_random_functions(block: int) -> None:
    for seed in range(500 * block, 500 * (block + 1)):
        check(seed, Edges())
