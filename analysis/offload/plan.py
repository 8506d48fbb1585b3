"""Planning of memory saving under a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.errors import InputError
from ..cost_graphs.graph import Ints, Lists
from .budget_grid_plans import BudgetGridPlans
from .effort import Preset
from .evaluate import Evaluator
from .kinds import Kind
from .least_budget import alone_within, least_budget_plan
from .problem import OffloadProblem
from .rules import Rule, Thresholds, planned_by_rule
from .search import Found, quicker


@dataclass(frozen=True)
class OffloadPlan:
    """The kinds of all gaps, and the resulting execution."""

    kind: Ints
    """[c] kind of each gap"""
    chains: Lists
    """[c] number of operations that run again at the end of each gap."""
    time_ns: int
    limit: int
    """Limit of the execution in bytes, at most the budget."""
    log: Ints
    """[rows, 4] log of the execution, see `simulate.run`."""


def plan_offload(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> OffloadPlan:
    """
    The fastest plan within the budget (bytes) that the search finds.

    Names of kinds are tried alone and together, and plans for smaller budgets of the grid are tried as well, see
    `budget_grid_plans`. Raises InputError, with the smallest budget, if no plan of these kinds fits.
    """
    return plan_within(BudgetGridPlans(evaluator, kinds, preset, seed), budget)


def plan_within(plans: BudgetGridPlans, budget: int) -> OffloadPlan:
    """As `plan_offload`, reusing results for other budgets."""
    return executed(plans.evaluator, _best(plans.evaluator, plans, budget))


def plan_by_rule(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], rule: Rule, thresholds: Thresholds
) -> OffloadPlan:
    """
    The plan of a fixed rule; all its tensors are saved by one kind: the last of the allowed ones except recomputation.

    Raises InputError, with the smallest budget of the kinds, if no plan of the rule fits.
    """
    simple = [kind for kind in kinds if kind < Kind.RECOMPUTE]
    fits = budget >= evaluator.problem.smallest_budget
    found = planned_by_rule(evaluator, budget, max(simple or kinds), rule, thresholds) if fits else None
    if found is None:
        least = _smallest(evaluator, budget, kinds).limit
        raise InputError(
            f"no plan by this rule stays below {budget} bytes; with method default, the smallest budget that works is "
            f"{least}"
        )
    return executed(evaluator, Found(found[0], found[1], budget))


def plans_for(
    evaluator: Evaluator, budgets: list[int], kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> list[OffloadPlan | None]:
    """Plans for budgets in bytes, None if none fits. More memory never takes more time."""
    plans = BudgetGridPlans(evaluator, kinds, preset, seed)
    found: dict[int, OffloadPlan | None] = {}
    best: Found | None = None
    for budget in sorted(set(budgets)):
        try:
            best = quicker(best, _best(evaluator, plans, budget))
        except InputError:
            # There may be a plan within less memory that this search does not find.
            pass
        found[budget] = None if best is None else executed(evaluator, best)
    return [found[budget] for budget in budgets]


def executed(evaluator: Evaluator, found: Found) -> OffloadPlan:
    """The execution of a plan."""
    log = np.zeros((evaluator.problem.ops + 5 * evaluator.problem.gaps, 4), np.int64)
    time, rows = evaluator.makespan(found.plan, found.limit, log)
    return OffloadPlan(found.plan, evaluator.chains(found.plan), time, found.limit, log[:rows])


def too_small(problem: OffloadProblem, budget: int, least: int) -> InputError:
    """
    The error for a budget within which there is no plan; it names the operation that needs the most bytes, and the
    smallest budget.
    """
    over = problem.working_set if budget < problem.smallest_budget else problem.live
    worst = int(np.argmax(over))
    name = f"{problem.graph.op_names[worst]} (id {problem.graph.op_ids[worst]})"
    if budget < problem.smallest_budget:
        why = f"operation {name} alone needs {problem.smallest_budget} bytes"
    else:
        why = f"no plan of the allowed kinds was found; the peak, {problem.peak} bytes, is at operation {name}"
    other = f" (with swap: {problem.smallest_budget})" if least > problem.smallest_budget else ""
    return InputError(
        f"a budget of {budget} bytes is too small: {why}; the smallest budget that works is {least}{other}"
    )


def _best(evaluator: Evaluator, plans: BudgetGridPlans, budget: int) -> Found:
    """The best plan found. Raises InputError if there is none."""
    return plans.best(budget) or _smallest(evaluator, budget, plans.kinds)


def _smallest(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...]) -> Found:
    """The plan of least memory. Raises InputError if the budget is below it."""
    if Kind.SWAP in kinds and budget < evaluator.problem.smallest_budget:
        raise too_small(evaluator.problem, budget, evaluator.problem.smallest_budget)
    found = least_budget_plan(evaluator, kinds)
    if found.limit > budget:
        raise too_small(evaluator.problem, budget, found.limit)
    # A single kind may need more memory, but take less time.
    return min((found, *alone_within(evaluator, kinds, budget)), key=lambda one: one.time)
