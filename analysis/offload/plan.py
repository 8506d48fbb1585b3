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

STEPS = 20
"""Budgets of 1/20 of the peak, 2/20 and so on are round: a plan for the next lower one is tried as well."""


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

    Names of kinds are tried alone and together. A plan for the next lower round budget is tried, too: that more memory
    makes things slower is rare. Raises InputError where the budget is under the largest working set, or where no plan
    of these kinds fits.
    """
    problem = evaluator.problem
    check_budget(problem, budget)
    best = _least(evaluator, budget, kinds, preset, seed)
    lower = round_budget(problem, budget)
    if not effort_of(problem, preset).thorough and best is not None:
        return executed(evaluator, best)
    if problem.smallest_budget <= lower and (best is None or best.time > problem.compute_ns):
        other = _least(evaluator, lower, kinds, preset, seed)
        if other is not None:
            best = better(best, _within(evaluator, other, budget))
    if best is None:
        raise no_plan(problem, budget)
    return executed(evaluator, best)


def plan_by_rule(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], rule: Rule, thresholds: Thresholds
) -> OffloadPlan:
    """
    The plan of a fixed rule; all its tensors are saved by one kind: the largest of the allowed ones but recomputation.

    Raises InputError where the budget is under the largest working set, or where the rule's plans do not fit.
    """
    check_budget(evaluator.problem, budget)
    simple = [kind for kind in kinds if kind < Kind.RECOMPUTE]
    found = planned_by_rule(evaluator, budget, max(simple or kinds), rule, thresholds)
    if found is None:
        raise no_plan(evaluator.problem, budget)
    return executed(evaluator, Found(found[0], found[1], budget))


def plans_for(
    evaluator: Evaluator, budgets: list[int], kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> list[OffloadPlan | None]:
    """Plans for budgets in bytes, None where none fits. More memory never takes more time."""
    found: dict[int, OffloadPlan | None] = {}
    best: Found | None = None
    for budget in sorted(set(budgets)):
        here = None
        if budget >= evaluator.problem.smallest_budget:
            here = _least(evaluator, budget, kinds, preset, seed)
        if best is not None:
            here = better(here, _within(evaluator, best, budget))
        best = here
        found[budget] = None if best is None else executed(evaluator, best)
    return [found[budget] for budget in budgets]


def round_budget(problem: OffloadProblem, budget: int) -> int:
    """The largest round budget below this one."""
    return max(
        step * problem.peak // STEPS for step in range(STEPS + 1) if step == 0 or step * problem.peak // STEPS < budget
    )


def better(one: Found | None, other: Found) -> Found:
    """The quicker of the two."""
    return other if one is None or other.time < one.time else one


def executed(evaluator: Evaluator, found: Found) -> OffloadPlan:
    """The execution of a plan."""
    log = np.zeros((evaluator.problem.ops + 5 * evaluator.problem.gaps, 4), np.int64)
    time, rows = evaluator.makespan(found.plan, found.limit, log)
    return OffloadPlan(found.plan, evaluator.chains(found.plan), time, found.limit, log[:rows])


def check_budget(problem: OffloadProblem, budget: int) -> None:
    """Raises InputError for a budget that no plan can keep; it names the operation and the smallest budget."""
    if budget >= problem.smallest_budget:
        return
    worst = int(np.argmax(problem.working_set))
    name = f"{problem.graph.op_names[worst]} (id {problem.graph.op_ids[worst]})"
    raise InputError(
        f"a budget of {budget} bytes is too small: operation {name} alone works on "
        f"{problem.smallest_budget} bytes; the smallest budget that works is {problem.smallest_budget}"
    )


def no_plan(problem: OffloadProblem, budget: int) -> InputError:
    """The error where the allowed kinds do not suffice."""
    return InputError(
        f"no plan of the allowed kinds keeps below {budget} bytes; with swap, the smallest budget that works is "
        f"{problem.smallest_budget}"
    )


def _within(evaluator: Evaluator, found: Found, budget: int) -> Found:
    """A plan for a smaller budget, with what the larger one allows."""
    time, _ = evaluator.makespan(found.plan, budget)
    return Found(time, found.plan, budget) if time <= found.time else found


def _least(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset, seed: int) -> Found | None:
    """The best plan found for just this budget; more effort never finds a slower one."""
    bound = lower_bound_ns(evaluator, kinds, budget)
    best: Found | None = None
    for one in (Preset.FAST,) if preset is Preset.FAST else (Preset.FAST, preset):
        effort = effort_of(evaluator.problem, one)
        if one is preset or effort.thorough:
            found = searched(evaluator, budget, kinds, effort, seed, bound)
            if found is not None and found.time < NEVER:
                best = better(best, found)
        if best is not None and best.time <= bound:
            break
    return best
