"""
The search used for all choices between variants of a network or of a part of it: variants are compared by their cycles,
the fastest is kept, and the outcome of each is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

from ..support.errors import MeshloomError

T = TypeVar("T")
Measure = Literal["estimated", "emulated"]

ACCEPT_RATIO = 0.999
"""
A variant with another drawback (more launches, loads at other times) is accepted only if its cycles are below this
ratio times those of the best.
"""


class Trial(NamedTuple):
    """The outcome of a variant."""

    variant: str
    text: str
    """Its cycles, and whether it was accepted; or the reason why it was not tried."""

    def __str__(self) -> str:
        return f"{self.variant}: {self.text}"


@dataclass
class Search(Generic[T]):
    """A search for the fastest of some variants (the first of equal ones). A single variant need not be timed."""

    cycles: Callable[[T], float]
    """Cycles of a variant; called once for each."""
    measure: Measure
    """The kind of cycles."""
    prune_ratio: float = 1.0
    """A variant is tried if its estimate is at most this ratio times the least estimate of all that were tried."""
    sufficient_cycles: float = 0.0
    """Once a variant takes at most this many cycles, no other is tried."""
    trials: list[Trial] = field(default_factory=list[Trial])
    failures: list[MeshloomError] = field(default_factory=list[MeshloomError])
    _best: tuple[str, T] | None = None
    _estimate: float = 0.0
    """Estimate of the best variant."""
    _least: float | None = None
    """Cycles of the best variant, once they are known."""
    _least_estimate: float = float("inf")

    def try_variant(
        self,
        variant: str,
        make: Callable[[], T],
        *,
        estimate: float = 0.0,
        share: float = 1.0,
        of_best: float = float("inf"),
    ) -> bool:
        """
        Make a variant and keep it if its cycles are below `share` times the least cycles. A variant is skipped if its
        estimate is above the prune ratio, or above `of_best` times that of the best so far. If MeshloomError is raised,
        it has failed. Returns whether it was made.
        """
        if self.is_over(variant):
            return False
        if self._best is not None:
            for most, against in ((self.prune_ratio, self._least_estimate), (of_best, self._estimate)):
                if estimate > most * against:
                    self._note(variant, f"estimated {estimate:,.0f} cycles, {over(estimate, against)}: not tried")
                    return False
        try:
            found = make()
        except MeshloomError as error:
            self.fail(variant, error)
            return False
        self._least_estimate = min(estimate, self._least_estimate)
        if self._best is None:
            self._best, self._estimate = (variant, found), estimate
            return True
        before = self.least()
        cycles = self.cycles(found)
        better = cycles < share * before
        if better:
            self._best, self._estimate, self._least = (variant, found), estimate, cycles
        taken = "taken" if better else "not taken"
        self._note(variant, f"{self.measure} {cycles:,.0f} cycles, {over(cycles, before)}: {taken}")
        return True

    def is_over(self, variant: str) -> bool:
        """Whether the best variant is sufficient, so that another variant need not be made. This is then logged."""
        if self._best is None or not self.sufficient_cycles or self.least() > self.sufficient_cycles:
            return False
        self._note(variant, f"at most {self.sufficient_cycles:,.0f} cycles are enough: not tried")
        return True

    def skip(self, variant: str, why: str) -> None:
        """Log that a variant is not made."""
        self._note(variant, f"{why}: not tried")

    def fail(self, variant: str, error: MeshloomError) -> None:
        """A variant cannot be made: its error is raised only if no variant can be made."""
        self.failures.append(error)
        self._note(variant, f"fails: {error}")

    def least(self) -> float:
        """Cycles of the best variant, which must exist."""
        if self._least is None:
            assert self._best is not None
            variant, found = self._best
            self._least = self.cycles(found)
            self._note(variant, f"{self.measure} {self._least:,.0f} cycles")
        return self._least

    @property
    def is_any(self) -> bool:
        """Whether a variant could be made."""
        return self._best is not None

    @property
    def is_timed(self) -> bool:
        """Whether the cycles of the best are known."""
        return self._least is not None

    def best(self) -> T:
        """The fastest variant. Raises the first of the errors if no variant could be made."""
        if self._best is None:
            raise self.failures[0]
        return self._best[1]

    def _note(self, variant: str, text: str) -> None:
        self.trials.append(Trial(variant, text))


def over(cycles: float, before: float) -> str:
    """`2.6% less`, compared with the best before."""
    if cycles == before or not before:
        return "as many"
    share = abs(cycles / before - 1)
    return f"{share:.1%} {'less' if cycles < before else 'more'}"
