"""Least budget: the smallest budget for which a plan of some kinds is known."""

from __future__ import annotations

import itertools

from .budget_grid import budget_grid
from .effort import Preset, effort_of
from .evaluate import Evaluator
from .kinds import Kind
from .search import GROUPS, Found, first_plans
from .simulate import NEVER

STEPS = 10
"""Number of steps of the bisection between the largest working set and the peak."""
CHANGES = 10_000_000
"""Number of operations and gaps that are visited while other kinds are tried for single gaps."""


def least_budget_plan(evaluator: Evaluator, kinds: tuple[Kind, ...]) -> Found:
    """
    A plan for the least budget (bytes), without regard to time; with swap, that is the largest working set.

    Without swap, `any_plan` finds nothing for a budget one byte smaller. The evaluator caches the result.
    """
    known = evaluator.smallest_plans
    if kinds not in known:
        known[kinds] = _smallest_plan(evaluator, kinds)
    return known[kinds]


def _smallest_plan(evaluator: Evaluator, kinds: tuple[Kind, ...]) -> Found:
    problem = evaluator.problem
    low, high = problem.smallest_budget, max(problem.peak, 1)
    best = squeezed(evaluator, Found(problem.compute_ns, evaluator.nothing_saved, high))
    if (found := any_plan(evaluator, low, kinds)) is not None:
        return found
    for _ in range(STEPS):
        middle = (low + best.limit) // 2
        found = any_plan(evaluator, middle, kinds)
        if found is None:
            low = middle
        else:
            best = squeezed(evaluator, found)
    # A plan may be found for a smaller budget although none is found for a larger one.
    lower = (any_plan(evaluator, budget, kinds) for budget in reversed(budget_grid(problem)) if budget < best.limit)
    if (found := next(filter(None, lower), None)) is not None:
        best = squeezed(evaluator, found)
    best = min((best, *_alone(evaluator, kinds)), key=lambda one: one.limit)
    while True:
        limit = best.limit
        found = any_plan(evaluator, best.limit - 1, kinds)
        best = squeezed(evaluator, found) if found is not None else _changed(evaluator, best, kinds)
        if best.limit == limit:
            return best


def alone_within(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int) -> list[Found]:
    """The plans of least memory of single names of `kinds` that fit a budget (bytes)."""
    return [found for found in _alone(evaluator, kinds) if found.limit <= budget]


def _alone(evaluator: Evaluator, kinds: tuple[Kind, ...]) -> list[Found]:
    return [least_budget_plan(evaluator, group) for group in GROUPS if set(group) < set(kinds)]


def any_plan(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...]) -> Found | None:
    """A plan within the budget, without regard to time; it does not depend on the effort."""
    for preset in Preset:
        found = first_plans(evaluator, budget, kinds, effort_of(evaluator.problem, preset))
        if found:
            return min(found, key=lambda one: one.time)
    return None


def _changed(evaluator: Evaluator, best: Found, kinds: tuple[Kind, ...]) -> Found:
    """The plan with other kinds for single gaps, gap by gap, if that takes less memory."""
    problem = evaluator.problem
    tries = CHANGES // (problem.ops + problem.gaps + 1)
    for gap, kind in itertools.islice(itertools.product(range(problem.gaps), (Kind.KEEP, *kinds)), tries):
        if best.plan[gap] != kind and best.limit > problem.smallest_budget:
            plan = best.plan.copy()
            plan[gap] = kind
            time, _ = evaluator.makespan(plan, best.limit - 1)
            if time < NEVER:
                best = squeezed(evaluator, Found(time, plan, best.limit - 1))
    return best


def squeezed(evaluator: Evaluator, found: Found) -> Found:
    """The plan with its smallest budget, found by bisection: one byte less is not sufficient."""
    low, high, time = evaluator.problem.smallest_budget - 1, found.limit, found.time
    while high - low > 1:
        middle = (low + high) // 2
        now, _ = evaluator.makespan(found.plan, middle)
        if now < NEVER:
            high, time = middle, now
        else:
            low = middle
    return Found(time, found.plan, high)
