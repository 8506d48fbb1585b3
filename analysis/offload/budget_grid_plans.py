"""
Plans for the budget grid, so that more memory never takes more time, also in separate calls.

The grid consists of fixed shares of the peak, whatever budget is requested. The plan for a budget is the fastest one
that the search finds for the budget itself or for any of the grid below, so a budget of the grid is never slower than a
smaller one. Budgets for which no plan can be faster, by the lower bound, are skipped; that changes no result. On large
graphs there is no time for recomputation at every budget of the grid: at the lower ones it is left out.

If several names of kinds are allowed, the plans of each name alone are candidates, too, so that no kind makes a plan
slower.
"""

from __future__ import annotations

from .bounds import lower_bound_ns
from .budget_grid import budget_grid
from .effort import Preset, effort_of
from .evaluate import Evaluator
from .kinds import NAMES, Kind
from .least_budget import alone_within, any_plan
from .search import Found, quicker, searched


class BudgetGridPlans:
    """The plans of one search for several budgets, each computed once."""

    def __init__(self, evaluator: Evaluator, kinds: tuple[Kind, ...], preset: Preset, seed: int) -> None:
        self.evaluator = evaluator
        self.kinds = kinds
        self.preset = preset
        self.seed = seed
        self._found: dict[tuple[int, tuple[Kind, ...]], Found | None] = {}
        names = [group for group in NAMES.values() if set(group) < set(kinds)]
        self._alone = [BudgetGridPlans(evaluator, group, preset, seed) for group in names]

    def best(self, budget: int) -> Found | None:
        """The best plan found within the budget (bytes), with a limit of at most `budget`; None if there is none."""
        if budget < self.evaluator.problem.smallest_budget:
            return None
        best = self._at(budget, self.kinds)
        simple = tuple(kind for kind in self.kinds if kind < Kind.RECOMPUTE)
        kinds = self.kinds if effort_of(self.evaluator.problem, self.preset).rounds else simple
        for lower in budget_grid(self.evaluator.problem):
            if lower >= budget or not kinds:
                continue
            if best is None or best.time > self._bound(lower, kinds):
                best = quicker(best, self._at(lower, kinds))
            elif kinds == self.kinds:
                break
        for alone in self._alone:
            if best is None or best.time > self._bound(budget, alone.kinds):
                best = quicker(best, alone.best(budget))
        if best is not None and best.time > self._bound(budget, self.kinds):
            least = effort_of(self.evaluator.problem, self.preset).smallest
            alone = alone_within(self.evaluator, self.kinds, budget) if least else []
            best = min((best, *alone), key=lambda one: one.time)
        return best

    def _bound(self, budget: int, kinds: tuple[Kind, ...]) -> int:
        return lower_bound_ns(self.evaluator, kinds, budget)

    def _at(self, budget: int, kinds: tuple[Kind, ...]) -> Found | None:
        """The best plan found for exactly this budget; more effort and more kinds never find a slower one."""
        if (budget, kinds) not in self._found:
            self._found[budget, kinds] = self._search(budget, kinds)
        return self._found[budget, kinds]

    def _search(self, budget: int, kinds: tuple[Kind, ...]) -> Found | None:
        bound = self._bound(budget, kinds)
        best: Found | None = None
        wanted = effort_of(self.evaluator.problem, self.preset, again=Kind.RECOMPUTE in kinds)
        for effort in dict.fromkeys((effort_of(self.evaluator.problem, Preset.FAST), wanted)):
            if effort == wanted or effort.thorough:
                found = searched(self.evaluator, budget, kinds, effort, self.seed, bound)
                best = quicker(best, found)
            if best is not None and best.time <= bound:
                return best
        return best or any_plan(self.evaluator, budget, kinds)
