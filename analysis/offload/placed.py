"""Plans whose buffers have fixed offsets within the budget."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.errors import InputError
from ..allocation.allocate import Allocation
from .effort import Preset
from .evaluate import Evaluator
from .kinds import Kind
from .plan import OffloadPlan, plan_offload
from .residency import Residency, residency

LIMITS = (1.0, 0.99, 0.98, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8)
"""Shares of the budget: plans for a lower limit leave bytes for fragmentation."""
WORK = 500_000_000
"""Steps of the search for the offsets of one plan; about a nanosecond each."""


@dataclass(frozen=True)
class PlacedPlan:
    """A plan, its buffers and their offsets."""

    plan: OffloadPlan
    residency: Residency
    places: Allocation


def plan_placed(
    evaluator: Evaluator, budget: int, kinds: tuple[Kind, ...], preset: Preset = Preset.NORMAL, seed: int = 0
) -> PlacedPlan:
    """
    As `plan_offload`, but the buffers of the plan fit the budget (bytes) at fixed offsets.

    Plans of less and less memory are tried. Raises InputError as `plan_offload` does, and if no offsets are found.
    """
    least = evaluator.problem.smallest_budget
    places: Allocation | None = None
    tried: set[int] = set()
    for share in LIMITS:
        limit = max(least, int(share * budget))
        if limit in tried:
            continue
        tried.add(limit)
        try:
            plan = plan_offload(evaluator, limit, kinds, preset, seed)
        except InputError:
            if limit == budget:
                raise
            break
        held = residency(evaluator, plan)
        places = held.offsets(budget, WORK)
        if places.peak <= budget:
            return PlacedPlan(plan, held, places)
    assert places is not None
    raise InputError(
        f"no fixed places found for a plan within {budget} bytes; the last one ended at {places.peak}: give more memory"
    )
