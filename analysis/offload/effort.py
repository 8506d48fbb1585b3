"""How long to search: work is counted in steps, so that the same input gives the same plan."""

from __future__ import annotations

from enum import StrEnum

from .problem import OffloadProblem


class Preset(StrEnum):
    """How long to search."""

    FAST = "fast"
    NORMAL = "normal"


_ITEMS = {Preset.FAST: 150_000, Preset.NORMAL: 5_000_000}
"""Operations and gaps to look at in one search; about 15 ns each."""
_PER_GAP = {Preset.FAST: 10, Preset.NORMAL: 100}
"""Simulated executions for each gap, at most."""


def evaluations_of(problem: OffloadProblem, preset: Preset) -> int:
    """Simulated executions of one search."""
    few = _PER_GAP[preset] * problem.gaps
    return min(10_000, few, _ITEMS[preset] // (problem.ops + problem.gaps + 1))
