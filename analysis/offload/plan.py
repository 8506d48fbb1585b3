"""Planning the saving of memory under a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.errors import InputError
from ..cost_graphs.graph import Ints, Lists
from .evaluate import Evaluator
from .kinds import Kind
from .model import Model
from .problem import OffloadProblem
from .simulate import NEVER


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
    problem: OffloadProblem, model: Model, budget: int, kinds: tuple[Kind, ...], evaluations: int, seed: int = 0
) -> OffloadPlan:
    """
    A plan within the budget (bytes), as quick as the search finds it.

    The kinds are tried alone and together, each with so many simulated executions. Raises InputError where the budget
    is under the largest working set, or where no plan of these kinds fits.
    """
    if budget < problem.smallest_budget:
        raise too_small(problem, budget)
    evaluator = Evaluator(problem, model)
    found = _search(evaluator, budget, kinds, evaluations, seed)
    if found is None:
        raise InputError(
            f"no plan of the allowed kinds keeps below {budget} bytes; the largest working set is "
            f"{problem.smallest_budget}: allow more kinds, or a larger budget"
        )
    time, plan = found
    log = np.zeros((problem.ops + 5 * problem.gaps, 4), np.int64)
    _, rows = evaluator.makespan(plan, budget, log)
    return OffloadPlan(plan, evaluator.chains(plan), time, budget, log[:rows])


def _search(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], evaluations: int, seed: int
) -> tuple[int, Ints] | None:
    """(ns, plan) of the best plan found."""
    compute = evaluator.problem.compute_ns
    best: tuple[int, Ints] | None = None
    groups: list[tuple[Kind, ...]] = [(kind,) for kind in kinds]
    if Kind.RECOMPUTE in kinds:
        groups.append((Kind.RECOMPUTE, Kind.RECOMPUTE_EACH))
    if len(kinds) > 1 and kinds not in groups:
        groups.append(kinds)
    for group in groups:
        start = _first(evaluator, group, budget)
        if len(group) > 1 and best is not None and (start is None or evaluator.makespan(start, budget)[0] > best[0]):
            start = best[1]
        if start is None:
            continue
        time, plan = evaluator.annealed(start, group, budget, evaluations, seed)
        if best is None or time < best[0]:
            best = time, plan
        if best[0] == compute:
            break
    return best


def _first(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int) -> Ints | None:
    """A plan that runs within the budget; its profile keeps some room free where computing again needs it."""
    for share in (1.0, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7):
        start = evaluator.covered(kinds, max(int(share * budget), evaluator.problem.smallest_budget))
        if start is not None and evaluator.makespan(start, budget)[0] < NEVER:
            return start
    return None


def too_small(problem: OffloadProblem, budget: int) -> InputError:
    """The error for a budget that no plan can keep."""
    worst = int(np.argmax(problem.working_set))
    name = problem.graph.op_names[worst]
    return InputError(
        f"a budget of {budget} bytes is too small: operation {name} alone works on {problem.smallest_budget} bytes; "
        f"the smallest budget that works is {problem.smallest_budget}"
    )
