"""Fixed rules for the choice of tensors: the thresholds of spec 1, and candidates in order of slack or of size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ..cost_graphs.graph import Ints
from .effort import SHARES
from .evaluate import Evaluator
from .kinds import Kind
from .problem import OffloadProblem
from .simulate import NEVER


class Rule(StrEnum):
    """The order in which candidates are taken until the memory goal is met."""

    SPEC = "spec"
    """
    As `SIZE`, for tensors above the thresholds; with N, this number of tensors in each round, whether or not they
    relieve an operation over the budget.
    """
    SLACK = "slack"
    """By descending slack, those that relieve an operation over the budget."""
    SIZE = "size"
    """By descending size, those that relieve an operation over the budget."""


@dataclass(frozen=True)
class Thresholds:
    """The settings of the rule of the spec."""

    slack: int = 0
    """th_tts: inputs that wait for more than this many ns are candidates."""
    size: int = 0
    """th_size: tensors of more than this many bytes are candidates."""
    most: int | None = None
    """N: number of insertions in one round; None: until the goal is met."""


def candidates(problem: OffloadProblem, rule: Rule, thresholds: Thresholds) -> Ints:
    """Gaps in the order in which the rule takes them."""
    slack, size = problem.waiting, problem.size
    if rule is Rule.SLACK:
        return np.lexsort((problem.before, -size, -slack))
    found = np.lexsort((problem.before, -slack, -size))
    if rule is Rule.SIZE:
        return found
    return found[(slack[found] > thresholds.slack) & (size[found] > thresholds.size)]


def planned_by_rule(
    evaluator: Evaluator, budget: int, kind: Kind, rule: Rule, thresholds: Thresholds
) -> tuple[int, Ints] | None:
    """(ns, plan) of the rule's first round that keeps the budget; None if none does."""
    order = candidates(evaluator.problem, rule, thresholds)
    if rule is Rule.SPEC and thresholds.most is not None:
        return _rounds(evaluator, budget, kind, order, thresholds.most)
    for share in SHARES:
        plan = np.zeros(evaluator.problem.gaps, np.int64)
        limit = max(int(share * budget), evaluator.problem.smallest_budget)
        fits = evaluator.take_in_order(order, kind, limit, plan)
        if fits or limit < budget:
            time, _ = evaluator.makespan(plan, budget)
            if time < NEVER:
                return time, plan
        elif kind < Kind.RECOMPUTE:
            return None
    return None


def _rounds(evaluator: Evaluator, budget: int, kind: Kind, order: Ints, most: int) -> tuple[int, Ints] | None:
    """A fixed number of insertions in each round, whether they help or not."""
    plan = np.zeros(evaluator.problem.gaps, np.int64)
    for first in range(0, len(order) + most, most):
        time, _ = evaluator.makespan(plan, budget)
        if time < NEVER:
            return time, plan
        plan[order[first : first + most]] = kind
    return None
