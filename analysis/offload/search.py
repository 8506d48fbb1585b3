"""The search for a plan under a budget: kinds alone, and together."""

from __future__ import annotations

from dataclasses import dataclass

from ..cost_graphs.graph import Ints
from .effort import Effort
from .evaluate import Evaluator
from .kinds import Kind
from .rules import Rule, Thresholds, planned_by_rule
from .simulate import NEVER

AGAIN = (Kind.RECOMPUTE, Kind.RECOMPUTE_EACH, Kind.RECOMPUTE_AHEAD)
GROUPS = ((Kind.SWAP,), (Kind.COMPRESS,), AGAIN, (Kind.COMPRESS_SWAP,))
"""What is searched for itself first."""
SLOWER = 2
"""By how much an execution with chains takes longer to simulate."""


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
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], effort: Effort, seed: int, bound: int
) -> Found | None:
    """
    The best plan found under a budget (bytes); None where none of these kinds fits.

    Each name of a kind is searched as if it were the only one allowed, so more kinds are never worse than one; then all
    together, from the best so far. A search ends with the first plan that takes `bound` ns.
    """
    best: Found | None = None
    for group in GROUPS:
        if not set(group) <= set(kinds):
            continue
        if group in (AGAIN, (Kind.COMPRESS_SWAP,)) and best is not None and not effort.thorough:
            continue
        starts = [_first(evaluator, group, budget, effort)]
        if group == AGAIN:
            # Plans that compute much again and those that compute little are far apart: both are starts.
            thin = evaluator.thinned(AGAIN, budget) if effort.thins else None
            found = [start for start in (thin and Found(*thin, budget), *starts) if start is not None]
            starts = found * effort.restarts if effort.restarts > 1 else found[:1]
        else:
            starts = [_quicker(starts[0], _by_slack(evaluator, group[0], budget))]
            starts *= effort.restarts if group == (Kind.SWAP,) else 1
        for turn, start in enumerate(starts):
            best = _quicker(best, start)
            steps = effort.evaluations * effort.restarts // max(len(starts), effort.restarts)
            best = _quicker(best, _annealed(evaluator, start, group, budget, steps, seed + turn))
            if best is not None and best.time <= bound:
                return best
    if kinds not in GROUPS:
        start = best
        if best is None or effort.thorough:
            start = _quicker(_first(evaluator, kinds, budget, effort), best)
        steps = effort.evaluations // (SLOWER if AGAIN[0] in kinds else 1)
        best = _quicker(best, _annealed(evaluator, start, kinds, budget, steps, seed))
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


def _first(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int, effort: Effort) -> Found | None:
    """A plan that runs within the budget."""
    if kinds == AGAIN:
        kinds = AGAIN[:1]
    for share in effort.shares:
        plan = evaluator.covered(kinds, max(int(share * budget), evaluator.problem.smallest_budget), effort.tries)
        if plan is not None and (time := evaluator.makespan(plan, budget)[0]) < NEVER:
            return Found(time, plan, budget)
    return None
