"""Budgets that are tried whatever budget is asked for."""

from __future__ import annotations

from .problem import OffloadProblem

STEPS = 20
"""Budgets of 1/20 of the peak, 2/20 and so on are round."""


def round_budgets(problem: OffloadProblem) -> list[int]:
    """Bytes of the round budgets, the largest first; the last one is the largest working set."""
    all_of_them = (step * problem.peak // STEPS for step in reversed(range(1, STEPS + 1)))
    return [*(budget for budget in all_of_them if budget > problem.smallest_budget), problem.smallest_budget]
