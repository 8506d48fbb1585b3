"""
Cutting a serial list into stages for equal chips that work in parallel on different inputs (spec 2, "each on its own
chip, or mixed"): the slowest stage determines the interval between inputs, so its time is minimised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Carried:
    """A tensor that chips exchange over the host if there is a cut between its units."""

    producer: int
    """Number of the unit that computes it; -1: an input of the network."""
    readers: tuple[int, ...]
    """Numbers of units, ascending."""
    is_output: bool
    cycles: float
    """Cycles of one copy between a chip and the host."""


@dataclass(frozen=True)
class Held:
    """A constant, which is held by every chip with a unit that reads it."""

    readers: tuple[int, ...]
    """Numbers of units, ascending."""
    nbytes: int


@dataclass(frozen=True)
class HostWeights:
    """The cost of constants that do not fit in a chip's memory, and are copied from the host each time."""

    capacity: float
    """Bytes of constants that a chip may hold."""
    cycles_per_byte: float


def stage_costs(
    cycles: Sequence[float], carried: Sequence[Carried], held: Sequence[Held], weights: HostWeights
) -> Floats:
    """
    [units + 1, units + 1] cycles of a stage of the units from the row's number up to, but without, the column's: their
    own, those of copies in and out, and those of weights that do not fit and are copied in. Infinite for empty stages.
    """
    count = len(cycles)
    # Both are sums over rectangles of (start, stop): stored as differences along both axes, and summed up once.
    copies = np.zeros((count + 2, count + 2))
    nbytes = np.zeros((count + 2, count + 2))

    def add(grid: Floats, starts: tuple[int, int], stops: tuple[int, int], amount: float) -> None:
        """Add to all stages with `starts[0] <= start < starts[1]` and `stops[0] <= stop < stops[1]`."""
        if starts[0] < starts[1] and stops[0] < stops[1]:
            grid[starts[0], stops[0]] += amount
            grid[starts[1], stops[0]] -= amount
            grid[starts[0], stops[1]] -= amount
            grid[starts[1], stops[1]] += amount

    for value in carried:
        before = value.producer
        for reader in value.readers:  # a stage that begins in (before, reader] and holds the reader copies it in
            add(copies, (before + 1, reader + 1), (reader + 1, count + 1), value.cycles)
            before = reader
        last = count if value.is_output else max(value.readers, default=-1)
        if value.producer >= 0:  # a stage with its producer, and not with all readers, copies it out
            add(copies, (0, value.producer + 1), (value.producer + 1, last + 1), value.cycles)
    for one in held:
        before = -1
        for reader in one.readers:
            add(nbytes, (before + 1, reader + 1), (reader + 1, count + 1), one.nbytes)
            before = reader
    work = np.concatenate(([0.0], np.cumsum(np.asarray(cycles, np.float64))))
    size = slice(0, count + 1)
    over = np.maximum(_summed(nbytes)[size, size] - weights.capacity, 0.0) * weights.cycles_per_byte
    total = work[None, :] - work[:, None] + _summed(copies)[size, size] + over
    return np.where(np.arange(count + 1)[:, None] < np.arange(count + 1)[None, :], total, np.inf)


def _summed(differences: Floats) -> Floats:
    return differences.cumsum(axis=0).cumsum(axis=1)


def cut_stages(costs: Floats, most: int) -> list[int]:
    """
    Cuts into at most `most` stages, such that the longest is as short as possible; of all these, such that their sum
    (the latency) is least; of equal ones, the fewest. `costs`: as `stage_costs` gives them.
    """
    count = len(costs) - 1
    longest = np.full(count + 1, np.inf)
    longest[0] = 0.0
    limit = np.inf
    for _ in range(min(most, count)):
        longest = np.maximum(longest[:, None], costs).min(axis=0)
        limit = min(limit, float(longest[count]))
    allowed = np.where(costs <= limit, costs, np.inf)
    total = np.full(count + 1, np.inf)
    total[0] = 0.0
    rows: list[NDArray[np.int64]] = []
    ends: list[float] = []
    for _ in range(min(most, count)):
        sums = total[:, None] + allowed
        rows.append(np.asarray(sums.argmin(axis=0), np.int64))
        total = sums.min(axis=0)
        ends.append(float(total[count]))
    cuts: list[int] = []
    at = count
    for before in reversed(rows[: int(np.argmin(ends)) + 1] if ends else []):
        at = int(before[at])
        cuts.append(at)
    return sorted(cuts)[1:]
