"""Planning the saving of memory under a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.errors import InputError
from ..cost_graphs.graph import Ints, Lists
from .bounds import lower_bound_ns
from .effort import Preset, effort_of
from .evaluate import Evaluator
from .kinds import Kind
from .problem import OffloadProblem
from .rules import Rule, Thresholds, planned_by_rule
from .search import Found, searched
from .simulate import NEVER
from .smallest import any_plan, smallest_alone, smallest_plan

STEPS = 20
"""Budgets of 1/20 of the peak, 2/20 and so on are round: plans for lower ones are tried as well."""


@dataclass(frozen=True)
class OffloadPlan:
    """Kinds of all gaps, and the execution that follows."""

    kind: Ints
    """[c]"""
    chains: Lists
    """[c] operations that run again at the end of each gap."""
    time_ns: int
    limit: int
    """Bytes that the execution keeps below, at most the budget."""
    log: Ints
    """[rows, 4] see `simulate.run`."""


def plan_offload(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> OffloadPlan:
    """
    A plan within the budget (bytes), as quick as the search finds it.

    Names of kinds are tried alone and together. A plan for the next lower round budget is tried, too, and quick ones
    for those below: that more memory makes things slower is rare. Raises InputError, with the smallest budget, where no
    plan of these kinds fits.
    """
    problem = evaluator.problem
    best = _least(evaluator, budget, kinds, preset, seed) if budget >= problem.smallest_budget else None
    if best is None:
        best = any_plan(evaluator, budget, kinds) if budget >= problem.smallest_budget else None
        best = best or _smallest(evaluator, budget, kinds)
    effort = effort_of(problem, preset)
    if effort.smallest and best.time > lower_bound_ns(evaluator, kinds, budget):
        best = min((best, *smallest_alone(evaluator, budget, kinds)), key=lambda found: found.time)
    rounds = round_budgets(problem, budget)[: 1 + effort.rounds] if effort.thorough else []
    for number, lower in enumerate(rounds):
        if best.time <= lower_bound_ns(evaluator, kinds, lower):
            break
        other = _least(evaluator, lower, kinds, Preset.FAST if number else preset, seed)
        if other is not None:
            best = better(best, _within(evaluator, other, budget))
    return executed(evaluator, best)


def plan_by_rule(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], rule: Rule, thresholds: Thresholds
) -> OffloadPlan:
    """
    The plan of a fixed rule; all its tensors are saved by one kind: the largest of the allowed ones but recomputation.

    Raises InputError, with the smallest budget of the kinds, where no plan of the rule fits.
    """
    simple = [kind for kind in kinds if kind < Kind.RECOMPUTE]
    fits = budget >= evaluator.problem.smallest_budget
    found = planned_by_rule(evaluator, budget, max(simple or kinds), rule, thresholds) if fits else None
    if found is None:
        least = _smallest(evaluator, budget, kinds).limit
        raise InputError(
            f"no plan by this rule keeps below {budget} bytes; with method default, the smallest budget that works is "
            f"{least}"
        )
    return executed(evaluator, Found(found[0], found[1], budget))


def plans_for(
    evaluator: Evaluator, budgets: list[int], kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> list[OffloadPlan | None]:
    """Plans for budgets in bytes, None where none fits. More memory never takes more time."""
    found: dict[int, OffloadPlan | None] = {}
    best: Found | None = None
    least: Found | None = None
    for budget in sorted(set(budgets)):
        here = None
        if budget >= evaluator.problem.smallest_budget:
            here = _least(evaluator, budget, kinds, preset, seed)
            if here is None and best is None:
                least = least or smallest_plan(evaluator, kinds)
                here = least if least.limit <= budget else None
        if best is not None:
            here = better(here, _within(evaluator, best, budget))
        best = here
        found[budget] = None if best is None else executed(evaluator, best)
    return [found[budget] for budget in budgets]


def round_budgets(problem: OffloadProblem, budget: int) -> list[int]:
    """The round budgets below this one that the largest working set fits in, the largest first."""
    all_of_them = (step * problem.peak // STEPS for step in reversed(range(1, STEPS + 1)))
    return [one for one in all_of_them if problem.smallest_budget <= one < budget]


def better(one: Found | None, other: Found) -> Found:
    """The quicker of the two."""
    return other if one is None or other.time < one.time else one


def executed(evaluator: Evaluator, found: Found) -> OffloadPlan:
    """The execution of a plan."""
    log = np.zeros((evaluator.problem.ops + 5 * evaluator.problem.gaps, 4), np.int64)
    time, rows = evaluator.makespan(found.plan, found.limit, log)
    return OffloadPlan(found.plan, evaluator.chains(found.plan), time, found.limit, log[:rows])


def too_small(problem: OffloadProblem, budget: int, least: int) -> InputError:
    """The error for a budget that no plan keeps; it names the operation in the way and the smallest budget."""
    over = problem.working_set if budget < problem.smallest_budget else problem.live
    worst = int(np.argmax(over))
    name = f"{problem.graph.op_names[worst]} (id {problem.graph.op_ids[worst]})"
    if budget < problem.smallest_budget:
        why = f"operation {name} alone works on {problem.smallest_budget} bytes"
    else:
        why = f"no plan of the allowed kinds is found; most bytes, {problem.peak}, are there with operation {name}"
    other = f" (with swap: {problem.smallest_budget})" if least > problem.smallest_budget else ""
    return InputError(
        f"a budget of {budget} bytes is too small: {why}; the smallest budget that works is {least}{other}"
    )


def _smallest(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...]) -> Found:
    """The plan of least memory. Raises InputError where the budget is below."""
    if Kind.SWAP in kinds and budget < evaluator.problem.smallest_budget:
        raise too_small(evaluator.problem, budget, evaluator.problem.smallest_budget)
    found = smallest_plan(evaluator, kinds)
    if found.limit > budget:
        raise too_small(evaluator.problem, budget, found.limit)
    return found


def _within(evaluator: Evaluator, found: Found, budget: int) -> Found:
    """A plan for a smaller budget, with what the larger one allows."""
    time, _ = evaluator.makespan(found.plan, budget)
    return Found(time, found.plan, budget) if time <= found.time else found


def _least(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset, seed: int) -> Found | None:
    """The best plan found for just this budget; more effort never finds a slower one."""
    bound = lower_bound_ns(evaluator, kinds, budget)
    best: Found | None = None
    wanted = effort_of(evaluator.problem, preset)
    efforts = dict.fromkeys((effort_of(evaluator.problem, Preset.FAST), wanted))
    for effort in efforts:
        if effort == wanted or effort.thorough:
            found = searched(evaluator, budget, kinds, effort, seed, bound)
            if found is not None and found.time < NEVER:
                best = better(best, found)
        if best is not None and best.time <= bound:
            break
    return best
