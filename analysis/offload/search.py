"""The search for a plan under a budget: kinds alone, and together."""

from __future__ import annotations

from dataclasses import dataclass

from ..cost_graphs.graph import Ints
from .evaluate import SHARES, Evaluator
from .kinds import Kind
from .rules import Rule, Thresholds, planned_by_rule
from .simulate import NEVER

GROUPS = (
    (Kind.SWAP,),
    (Kind.COMPRESS,),
    (Kind.RECOMPUTE,),
    (Kind.RECOMPUTE_EACH,),
    (Kind.RECOMPUTE, Kind.RECOMPUTE_EACH),
    (Kind.COMPRESS_SWAP,),
)
"""What is searched for itself first."""


@dataclass(frozen=True)
class Found:
    """A plan and how long it takes when the memory stays below a limit."""

    time: int
    """ns"""
    plan: Ints
    """[c]"""
    limit: int
    """bytes"""


def searched(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], evaluations: int, seed: int, bound: int
) -> Found | None:
    """
    The best plan found under a budget (bytes); None where none of these kinds fits.

    Each name of a kind is searched as if it were the only one allowed, so more kinds are never worse than one; then all
    together, from the best so far. A search ends with the first plan that takes `bound` ns.
    """
    best: Found | None = None
    family: Found | None = None
    for group in GROUPS:
        if not set(group) <= set(kinds):
            continue
        start = _first(evaluator, group, budget)
        if len(group) > 1:
            start = _quicker(start, family)
        elif group[0] < Kind.RECOMPUTE:
            start = _quicker(start, _by_slack(evaluator, group[0], budget))
        found = _annealed(evaluator, start, group, budget, evaluations, seed)
        family = _quicker(family, found) if group[0] is Kind.RECOMPUTE or group[0] is Kind.RECOMPUTE_EACH else None
        best = _quicker(best, found)
        if best is not None and best.time <= bound:
            return best
    if kinds not in GROUPS:
        start = _quicker(_first(evaluator, kinds, budget), best)
        best = _quicker(best, _annealed(evaluator, start, kinds, budget, evaluations, seed))
    return best


def _quicker(one: Found | None, other: Found | None) -> Found | None:
    """The quicker one; the first where both are as quick."""
    if one is None or other is None:
        return one or other
    return other if other.time < one.time else one


def _annealed(
    evaluator: Evaluator, start: Found | None, kinds: tuple[Kind, ...], budget: int, evaluations: int, seed: int
) -> Found | None:
    if start is None:
        return None
    time, plan = evaluator.annealed(start.plan, kinds, budget, evaluations, seed)
    return Found(time, plan, budget)


def _by_slack(evaluator: Evaluator, kind: Kind, budget: int) -> Found | None:
    found = planned_by_rule(evaluator, budget, kind, Rule.SLACK, Thresholds())
    return None if found is None else Found(*found, budget)


def _first(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int) -> Found | None:
    """A plan that runs within the budget."""
    for share in SHARES:
        plan = evaluator.covered(kinds, max(int(share * budget), evaluator.problem.smallest_budget))
        if plan is not None and (time := evaluator.makespan(plan, budget)[0]) < NEVER:
            return Found(time, plan, budget)
    return None
