"""Cycles of a launch sequence with its host copies, from the cycles of each launch."""

from __future__ import annotations

from collections.abc import Sequence

from ...chips import Chip
from ...emulator.machine.costs import host_cycles
from .controller import Boundary, Copy


def total_cycles(chip: Chip, launches: Sequence[Boundary], cycles: Sequence[float]) -> float:
    """
    Cycles from the first copy to the last, by the order of `boundary_actions`; one copy in each direction at a time.
    """
    free = {True: 0.0, False: 0.0}

    def start(copies: Sequence[Copy], now: float) -> float:
        """Begin copies. Returns the time at which the last of them is done."""
        done = now
        for copy in copies:
            if copy.nbytes:
                done = free[copy.to_device] = max(now, free[copy.to_device]) + int(host_cycles(chip, copy.nbytes))
        return done

    now = inward = leaving = 0.0
    for launch, duration in zip(launches, cycles, strict=True):
        now = start(launch.before, max(now, inward))
        begun = now
        inward = start(launch.beside, begun)
        now = max(begun + duration, leaving)
        done = start(launch.after, now)
        leaving = start(launch.after_beside, now)
        now = done
    return max(now, inward, leaving)
