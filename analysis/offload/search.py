"""The search for a plan under a budget: kinds alone, and together."""

from __future__ import annotations

import itertools
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
PAIRS = ((Kind.SWAP, Kind.COMPRESS, Kind.COMPRESS_SWAP), (Kind.SWAP, *AGAIN), (Kind.COMPRESS, *AGAIN))
"""What two names of kinds allow."""
SLOWER = 4
"""By how much an execution with chains takes longer to simulate."""
KEPT = 5
"""Plans that are crossed with each other."""
AT_ONCE = 6
"""Pairs of them, before the best are chosen anew."""
CUTS = 11
"""Places at which each order of the gaps is cut."""
CHILDREN = 2
"""Plans that are kept of each pair."""
BEATEN = 1.5
"""Times the overhead of another kind alone: a kind that takes more is not searched on for itself."""
RUNS = 10 * CUTS
"""Simulated executions of one crossing: five orders, either plan first."""


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

    Each name of a kind is searched as if it were the only one allowed, then each two of them, so that more kinds are
    never worse; then all together. A search ends with the first plan that takes `bound` ns.
    """
    alone: list[tuple[tuple[Kind, ...], Found]] = []
    for group in GROUPS:
        if not set(group) <= set(kinds):
            continue
        if group in (AGAIN, (Kind.COMPRESS_SWAP,)) and alone and not effort.thorough:
            continue
        rival = min((found.time for _, found in alone), default=NEVER)
        found = _alone(evaluator, group, budget, effort, seed, bound, rival)
        if found is not None:
            if found.time <= bound or kinds == group:
                return found
            alone.append((group, found))
    best: list[Found] = []
    stages = [pair for pair in PAIRS if set(pair) < set(kinds)] if effort.pairs else []
    for stage in (*stages, kinds) if kinds not in GROUPS else ():
        pool = best if stage == kinds else []
        pool = pool + [found for group, found in alone if set(group) <= set(stage)]
        if not pool or effort.thorough:
            start = _first(evaluator, stage, budget, effort)
            pool += [start] if start is not None else []
        pool = crossed(evaluator, pool, stage, budget, effort.crossings, bound)
        if pool and pool[0].time > bound:
            steps = effort.evaluations // (SLOWER if AGAIN[0] in stage else 1) // (1 + len(stages) // 2)
            pool = [_quicker(pool[0], _annealed(evaluator, pool[0], stage, budget, steps, seed)), *pool]
        if pool and (pool[0].time <= bound or stage == kinds):
            return pool[0]
        best += pool[:2]
    return None


def _alone(
    evaluator: Evaluator, group: tuple[Kind, ...], budget: int, effort: Effort, seed: int, bound: int, rival: int
) -> Found | None:
    """
    The best plan found that saves memory in just one way.

    Further rounds of annealing come where the first one helped, and where this way may beat a plan of `rival` ns.
    """
    starts = _starts(evaluator, group, budget, effort)
    pool, turn, compute = list(starts), 0, evaluator.problem.compute_ns
    for steps in _rounds(group, effort):
        least = min((found.time for found in pool), default=bound)
        if least <= bound or (turn and least - compute > BEATEN * (rival - compute)):
            break
        for start in starts:
            pool.append(_annealed(evaluator, start, group, budget, steps, seed + turn))
            turn += 1
        if turn == len(starts) and min(found.time for found in pool) == least:
            break
    pool = crossed(evaluator, pool, group, budget, effort.crossings, bound)
    return pool[0] if pool else None


def _rounds(group: tuple[Kind, ...], effort: Effort) -> list[int]:
    """Simulated executions in each round of annealing, from each start."""
    if group == AGAIN:
        return [effort.evaluations // 2, *[3 * effort.evaluations // 2] * (2 * effort.restarts - 2)]
    return [effort.evaluations] * (effort.restarts if group == (Kind.SWAP,) else 1)


def first_plans(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], effort: Effort) -> list[Found]:
    """All plans that a search begins with: it finds a plan if there is one among them."""
    stages = [stage for stage in (*PAIRS, kinds) if set(stage) <= set(kinds) and stage not in GROUPS]
    found = [_first(evaluator, stage, budget, effort) for stage in stages]
    groups = [group for group in GROUPS if set(group) <= set(kinds)]
    alone = [start for group in groups for start in _starts(evaluator, group, budget, effort)]
    return [one for one in found if one is not None] + alone


def crossed(
    evaluator: Evaluator, pool: list[Found], kinds: tuple[Kind, ...], budget: int, evaluations: int, bound: int
) -> list[Found]:
    """The plans of a pool and what their crossings gave, the quickest first; about so many simulated executions."""
    done: set[tuple[bytes, bytes]] = set()
    while True:
        pool = _distinct(pool)[:KEPT]
        pairs = sorted(itertools.combinations(range(len(pool)), 2), key=sum)
        names = [found.plan.tobytes() for found in pool]
        pairs = [pair for pair in pairs if (names[pair[0]], names[pair[1]]) not in done]
        if not pairs or pool[0].time <= bound:
            return pool
        for one, other in pairs[:AT_ONCE]:
            if evaluations <= 0:
                return _distinct(pool)
            done.add((names[one], names[other]))
            children = evaluator.crossed(pool[one].plan, pool[other].plan, kinds, budget, CUTS, CHILDREN)
            evaluations -= RUNS
            pool += [Found(time, plan, budget) for time, plan in children]


def _distinct(pool: list[Found]) -> list[Found]:
    """The quickest first, each plan once."""
    found = {one.plan.tobytes(): one for one in reversed(pool)}
    return sorted(found.values(), key=lambda one: one.time)


def _starts(evaluator: Evaluator, group: tuple[Kind, ...], budget: int, effort: Effort) -> list[Found]:
    """Plans of one name of a kind, to be annealed."""
    first = _first(evaluator, group, budget, effort)
    if group == AGAIN:
        # Plans that compute much again and those that compute little are far apart: both are starts.
        thin = evaluator.thinned(AGAIN, budget, effort.thins) if effort.thins else None
        return [start for start in (thin and Found(*thin, budget), first) if start is not None]
    rules = [_by_rule(evaluator, group[0], budget, rule) for rule in (Rule.SLACK, Rule.SIZE, Rule.SPEC)]
    found = [start for start in (first, *rules) if start is not None]
    return [min(found, key=lambda start: start.time)] if found else []


def _quicker(one: Found, other: Found) -> Found:
    """The quicker one; the first where both are as quick."""
    return other if other.time < one.time else one


def _annealed(
    evaluator: Evaluator, start: Found, kinds: tuple[Kind, ...], budget: int, evaluations: int, seed: int
) -> Found:
    time, plan = evaluator.annealed(start.plan, kinds, budget, evaluations, seed)
    return Found(time, plan, budget)


def _by_rule(evaluator: Evaluator, kind: Kind, budget: int, rule: Rule) -> Found | None:
    found = planned_by_rule(evaluator, budget, kind, rule, Thresholds())
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
