"""The effort of the search, counted in steps, so that the same input gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .problem import OffloadProblem


class Preset(StrEnum):
    """Names of the efforts."""

    FAST = "fast"
    NORMAL = "normal"


@dataclass(frozen=True)
class Effort:
    """The numbers of steps of a search."""

    evaluations: int
    """Number of simulated executions in one annealing."""
    crossings: int
    """Number of simulated executions of crossovers."""
    restarts: int
    """Number of annealings of plans that are quick to evaluate: swaps alone, and recomputation alone."""
    pairs: int
    """Number of `search.PAIRS` that are searched separately before all kinds together."""
    thins: int
    """Number of costs at which plans with much recomputation are pruned gap by gap."""
    tries: int
    """Number of gaps that each step of covering by effect examines."""
    together: bool
    """Whether a step of covering takes several gaps at once."""
    thorough: bool
    """
    Whether first plans of several kinds together are made if single kinds have given plans.
    """
    rounds: bool
    """Whether plans with recomputation are made for smaller budgets of the grid, too."""
    smallest: bool
    """Whether plans of least memory are made of each kind alone."""
    shares: tuple[float, ...]
    """Shares of the budget for first plans: saving memory needs some memory itself."""


_ITEMS = {Preset.FAST: 80_000, Preset.NORMAL: 1_200_000}
"""Operations and gaps that one annealing visits; about 15 ns each."""
_CROSSED = {Preset.FAST: 35_000, Preset.NORMAL: 300_000}
"""As `_ITEMS`, for crossovers; about 80 ns each."""
_SMALL = 300
"""Number of operations and gaps of a graph for which twice as many are visited."""
_TINY = 120
"""Operations and gaps of graphs for which each preset has time for all kinds of first plans."""
_PER_GAP = {Preset.FAST: 20, Preset.NORMAL: 200}
"""Largest number of simulated executions for each gap."""
_THIN = {Preset.FAST: 30_000, Preset.NORMAL: 600_000}
"""Gaps times operations and gaps, times prices."""
_PAIRED = 1_500
"""Operations, gaps and their length up to which pairs of kinds are searched separately."""
_COVER = {Preset.FAST: 2_000, Preset.NORMAL: 10_000}
"""Operations and gaps times candidates that a step of covering by effect may examine."""
_TOGETHER = 500
"""Operations and gaps of a graph per gap that is taken together with others."""
_LARGE = 50_000
"""Operations, gaps and their length of large graphs."""
_ROUNDS = 10_000
"""Operations, gaps and their length of graphs with time for searches under several budgets with recomputation."""
SHARES = (1.0, 0.97, 0.94, 0.9, 0.85, 0.8, 0.7)
"""Shares of the budget for first plans, if there is time."""


def effort_of(problem: OffloadProblem, preset: Preset, again: bool = False) -> Effort:
    """The effort of a preset for a problem; `again`: recomputation is among the allowed kinds."""
    # Changes to profiles along the gaps are cheap, but long ones add up.
    along = int((problem.after - problem.before).sum()) // 200
    items = problem.ops + problem.gaps + along + 1
    first = Preset.NORMAL if items <= _TINY else preset
    # Small graphs have time for more.
    wanted = _ITEMS[preset] // items * (items + _SMALL) // items
    # Large graphs may take longer, within limits.
    large = 0 if preset is Preset.FAST else min(500 if again else 1_500, 40_000_000 // items)
    pairs = 1 if preset is Preset.FAST or items > _PAIRED else 3
    return Effort(
        min(20_000, _PER_GAP[preset] * problem.gaps, max(wanted, large)),
        min(3_000, max(_CROSSED[preset] // items, min(500, large // 5))),
        1 if preset is Preset.FAST else 2,
        pairs if items <= _LARGE else 0,
        min(3, _THIN[first] // (problem.gaps * items + 1)),
        max(1, min(64, _COVER[first] // items)) if items <= _ROUNDS else min(256, items // _TOGETHER),
        items > _ROUNDS,
        items <= _LARGE,
        items <= _ROUNDS,
        items <= _TINY,
        SHARES[::3] if first is Preset.FAST else SHARES,
    )
