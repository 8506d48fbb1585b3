"""The budget grid: fixed budgets that are always planned besides the requested one."""

from __future__ import annotations

from .problem import OffloadProblem

STEPS = 20
"""The grid consists of the multiples of 1/20 of the peak."""


def budget_grid(problem: OffloadProblem) -> list[int]:
    """The budgets of the grid in bytes, in descending order; the last one is the largest working set."""
    all_of_them = (step * problem.peak // STEPS for step in reversed(range(1, STEPS + 1)))
    return [*(budget for budget in all_of_them if budget > problem.smallest_budget), problem.smallest_budget]
