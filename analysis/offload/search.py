"""Search for a plan under a budget: with each kind alone, then with several kinds together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..cost_graphs.graph import Ints
from .bounds import lower_bound_ns
from .effort import Effort
from .evaluate import Evaluator
from .kinds import Kind
from .rules import Rule, Thresholds, planned_by_rule
from .simulate import NEVER

RECOMPUTATION = (Kind.RECOMPUTE, Kind.RECOMPUTE_EACH, Kind.RECOMPUTE_AHEAD)
COMPRESSED_SWAP = (Kind.COMPRESS_SWAP,)
GROUPS = ((Kind.SWAP,), (Kind.COMPRESS,), RECOMPUTATION, COMPRESSED_SWAP)
"""
Sets of kinds that are searched separately first. `COMPRESSED_SWAP` follows from two names and only starts other
searches.
"""
PAIRS = ((Kind.SWAP, Kind.COMPRESS, Kind.COMPRESS_SWAP), (Kind.SWAP, *RECOMPUTATION), (Kind.COMPRESS, *RECOMPUTATION))
"""Sets of kinds that two names allow together."""
CHAIN_SLOWDOWN = 4
"""Factor by which the simulation of an execution with chains takes longer."""
CROSSED_PLANS = 5
"""Number of plans that are crossed with each other."""
PAIRS_PER_ROUND = 6
"""Number of pairs that are crossed before the best plans are selected again."""
MAX_CROSSOVER_POINTS = 11
"""Largest number of crossover points in each order of the gaps."""
CHILDREN = 2
"""Number of plans that are kept of each pair."""
CONTINUE_RATIO = 1.5
"""A kind is not searched further alone if its overhead is more than this many times that of another kind alone."""
START_RATIO = 4
"""A kind is not searched at all if its first plan has more than this many times the overhead of another kind alone."""
RUNS_PER_POINT = 10
"""Simulated executions of one pair for each crossover point: five orders, with either plan first."""


@dataclass(frozen=True)
class Found:
    """A plan, and its time under a limit on memory."""

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
    The best plan found under a budget (bytes); None if none of these kinds fits.

    Each name of a kind is searched separately, as long as it may be better than the others, then pairs, then all. Kinds
    that cannot be faster than a found plan, by the lower bound, are not searched further. A search ends with the first
    plan that takes `bound` ns. `BudgetGridPlans` ensures that more kinds are never worse.
    """
    alone: list[tuple[tuple[Kind, ...], Found]] = []
    for group, least in _groups(evaluator, budget, kinds, effort):
        rival = min((found.time for _, found in alone), default=NEVER)
        found = _alone(evaluator, group, budget, effort, seed, least, rival)
        if found is not None:
            if found.time <= bound or kinds == group:
                return found
            alone.append((group, found))
    best: list[Found] = []
    stages = [pair for pair in PAIRS[: effort.pairs] if set(pair) < set(kinds)]
    for stage in (*stages, kinds) if kinds not in GROUPS else ():
        pool = best if stage == kinds else []
        pool = pool + [found for group, found in alone if set(group) <= set(stage)]
        quickest = min((found.time for found in (*best, *(found for _, found in alone))), default=NEVER)
        if stage != kinds and lower_bound_ns(evaluator, stage, budget) >= quickest:
            continue
        if not pool or effort.thorough:
            start = _first(evaluator, stage, budget, effort)
            pool += [start] if start is not None else []
        pool = crossovers(evaluator, pool, stage, budget, effort.crossings, bound)
        if pool and pool[0].time > bound:
            steps = effort.evaluations // (CHAIN_SLOWDOWN if RECOMPUTATION[0] in stage else 1)
            annealed = _annealed(evaluator, pool[0], stage, budget, steps, seed)
            pool = [min(pool[0], annealed, key=_time), *pool]
        if pool and (pool[0].time <= bound or stage == kinds):
            return pool[0]
        best += pool[:2]
    return None


def _groups(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], effort: Effort
) -> list[tuple[tuple[Kind, ...], int]]:
    """The names of kinds that are searched separately, and the least time of each (ns), in ascending order of time."""
    groups: list[tuple[Kind, ...]] = [group for group in GROUPS if set(group) <= set(kinds)]
    # No bound is known if tensors are always both compressed and copied: the bound with free choice is used.
    least = [lower_bound_ns(evaluator, PAIRS[0] if group == COMPRESSED_SWAP else group, budget) for group in groups]
    pairs = list(zip(groups, least, strict=True))
    # Recomputation comes last: plans of the other kinds are then the same as without it.
    return sorted(pairs, key=lambda pair: (pair[0] == RECOMPUTATION, pair[1])) if effort.thorough else pairs


def _alone(
    evaluator: Evaluator, group: tuple[Kind, ...], budget: int, effort: Effort, seed: int, bound: int, rival: int
) -> Found | None:
    """
    The best plan found with a single kind, whose lower bound is `bound` ns.

    Further rounds of annealing follow if the first one helped, and if this kind may be better than a plan of `rival`
    ns.
    """
    compute = evaluator.problem.compute_ns
    first = _first(evaluator, group, budget, effort)
    # Swap and compress together allow compressed swap, whose plans alone are only used as starts.
    if rival <= bound or group == COMPRESSED_SWAP:
        return first
    starts = _starts(evaluator, first, group, budget)
    if first is not None and first.time - compute > START_RATIO * (rival - compute):
        return min(starts, key=_time)
    starts = [*_thinned(evaluator, group, budget, effort), *starts]
    pool, turn = list(starts), 0
    for steps in _rounds(group, effort):
        least = min((found.time for found in pool), default=bound)
        if least <= bound or (turn and least - compute > CONTINUE_RATIO * (rival - compute)):
            break
        for start in starts:
            pool.append(_annealed(evaluator, start, group, budget, steps, seed + turn))
            turn += 1
        if turn == len(starts) and min(found.time for found in pool) == least:
            break
    pool = crossovers(evaluator, pool, group, budget, effort.crossings, bound)
    return pool[0] if pool else None


def _rounds(group: tuple[Kind, ...], effort: Effort) -> list[int]:
    """Simulated executions in each round of annealing, from each start."""
    if group == RECOMPUTATION:
        return [effort.evaluations // 2, *[3 * effort.evaluations // 2] * (2 * effort.restarts - 2)]
    return [effort.evaluations] * (effort.restarts if group == (Kind.SWAP,) else 1)


def first_plans(evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], effort: Effort) -> list[Found]:
    """All initial plans of a search."""
    stages = [stage for stage in (*PAIRS, kinds) if set(stage) <= set(kinds) and stage not in GROUPS]
    found = [_first(evaluator, stage, budget, effort) for stage in stages]
    groups = [group for group in GROUPS if set(group) <= set(kinds)]
    alone: list[Found] = []
    for group in groups:
        alone += _thinned(evaluator, group, budget, effort)
        alone += _starts(evaluator, _first(evaluator, group, budget, effort), group, budget)
    return [one for one in found if one is not None] + alone


def crossovers(
    evaluator: Evaluator, pool: list[Found], kinds: tuple[Kind, ...], budget: int, evaluations: int, bound: int
) -> list[Found]:
    """The plans of a pool and their crossovers, the fastest first, by about `evaluations` simulated executions."""
    done: set[tuple[bytes, bytes]] = set()
    cuts = max(1, min(MAX_CROSSOVER_POINTS, evaluations // RUNS_PER_POINT))
    turns = max(1, round(evaluations / (cuts * RUNS_PER_POINT)))
    while True:
        pool = _distinct(pool)[:CROSSED_PLANS]
        pairs = sorted(itertools.combinations(range(len(pool)), 2), key=sum)
        names = [found.plan.tobytes() for found in pool]
        pairs = [pair for pair in pairs if (names[pair[0]], names[pair[1]]) not in done]
        if not pairs or pool[0].time <= bound:
            return pool
        for one, other in pairs[:PAIRS_PER_ROUND]:
            if not turns:
                return _distinct(pool)
            turns -= 1
            done.add((names[one], names[other]))
            children = evaluator.crossed(pool[one].plan, pool[other].plan, kinds, budget, cuts, CHILDREN)
            pool += [Found(time, plan, budget) for time, plan in children]


def _distinct(pool: list[Found]) -> list[Found]:
    """The plans without duplicates, the fastest first."""
    found = {one.plan.tobytes(): one for one in reversed(pool)}
    return sorted(found.values(), key=_time)


def _starts(evaluator: Evaluator, first: Found | None, group: tuple[Kind, ...], budget: int) -> list[Found]:
    """The fastest plan of one name of a kind without search, as a start of annealing; `first`: a known plan."""
    rules = () if group == RECOMPUTATION else (Rule.SLACK, Rule.SIZE, Rule.SPEC)
    found = [first, *(_by_rule(evaluator, group[0], budget, rule) for rule in rules)]
    plans = [start for start in found if start is not None]
    return [min(plans, key=_time)] if plans else []


def _thinned(evaluator: Evaluator, group: tuple[Kind, ...], budget: int, effort: Effort) -> list[Found]:
    """A plan with much recomputation. It differs from plans with little of it, and is therefore a separate start."""
    thin = evaluator.thinned(RECOMPUTATION, budget, effort.thins) if group == RECOMPUTATION and effort.thins else None
    return [Found(*thin, budget)] if thin is not None else []


def _time(found: Found) -> int:
    return found.time


def quicker(one: Found | None, other: Found | None) -> Found | None:
    """The faster of two plans, the first if both are equally fast; None means no plan."""
    if one is None or other is None:
        return one or other
    return min(one, other, key=_time)


def _annealed(
    evaluator: Evaluator, start: Found, kinds: tuple[Kind, ...], budget: int, evaluations: int, seed: int
) -> Found:
    time, plan = evaluator.annealed(start.plan, kinds, budget, evaluations, seed)
    return Found(time, plan, budget)


def _by_rule(evaluator: Evaluator, kind: Kind, budget: int, rule: Rule) -> Found | None:
    found = planned_by_rule(evaluator, budget, kind, rule, Thresholds())
    return None if found is None else Found(*found, budget)


def _first(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int, effort: Effort) -> Found | None:
    """A feasible plan within the budget."""
    if kinds == RECOMPUTATION:
        kinds = RECOMPUTATION[:1]
    for share in effort.shares:
        room = max(int(share * budget), evaluator.problem.smallest_budget)
        plan = evaluator.covered(kinds, room, effort.tries, effort.together)
        if plan is None:
            # Kinds without a plan for this budget have none for a smaller budget.
            return None
        if (time := evaluator.makespan(plan, budget)[0]) < NEVER:
            return Found(time, plan, budget)
    return None
