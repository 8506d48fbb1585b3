"""SRAM budgets of tasks, and the range of budgets for which a task is planned in the same way."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class SramBudget:
    """Bytes of SRAM per core that a task may use. It records the sizes that were queried."""

    available: int
    largest_fitting: int = 0
    """The largest queried size that fits."""
    least_exceeding: float = float("inf")

    def fits(self, nbytes: int) -> bool:
        """Whether this many bytes fit."""
        fitting = nbytes <= self.available
        if fitting:
            self.largest_fitting = max(self.largest_fitting, nbytes)
        else:
            self.least_exceeding = min(self.least_exceeding, nbytes)
        return fitting

    def same_answers(self, available: int) -> bool:
        """Whether all queries so far have the same answers with this many bytes available."""
        return self.largest_fitting <= available < self.least_exceeding

    def include(self, other: SramBudget) -> None:
        """Record the queries of another budget as well; its answers equal those of this budget."""
        self.largest_fitting = max(self.largest_fitting, other.largest_fitting)
        self.least_exceeding = min(self.least_exceeding, other.least_exceeding)


@dataclass
class BudgetMemo(Generic[T]):
    """Results that depend on the SRAM budget, reused for all budgets that would lead to the same result."""

    _found: dict[Hashable, list[tuple[SramBudget, T]]] = field(
        default_factory=dict[Hashable, "list[tuple[SramBudget, T]]"]
    )

    def get(self, key: Hashable, available: int, make: Callable[[SramBudget], T]) -> T:
        """The result of `make` for this budget in bytes; `key` identifies everything else that it depends on."""
        return self.within(key, SramBudget(available), make)

    def within(self, key: Hashable, whole: SramBudget, make: Callable[[SramBudget], T]) -> T:
        """As `get`, for a part of a computation within a budget; the queries of `make` are recorded in the budget."""
        known = self._found.setdefault(key, [])
        for budget, result in known:
            if budget.same_answers(whole.available):
                whole.include(budget)
                return result
        budget = SramBudget(whole.available)
        result = make(budget)
        whole.include(budget)
        known.append((budget, result))
        return result
