"""
The choice of the earlier tasks during which a task's constants are loaded, so that DRAM is busy while tasks compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...chips import Chip
from ...chips.dram_ports import dram_rate
from .estimate import HANDSHAKE, run_alone
from .task_plan import TaskPlan, estimate_together

ANY_DISTANCE = 1 << 30
"""A distance that only memory limits: more tasks than a network has."""


@dataclass(frozen=True)
class PrefetchPolicy:
    """A prefetch policy: how early constants are loaded."""

    max_distance: int
    """Largest number of tasks from the start of a load to its task."""
    waiting: bool
    """Whether the tasks between are assumed to take as long as their own loads, which may be in progress as well."""
    multi_buffered: bool
    """Whether constants of several steps may be loaded together (see `multi_buffering`)."""

    def __str__(self) -> str:
        distance = "unlimited" if self.max_distance == ANY_DISTANCE else str(self.max_distance)
        alone = "" if self.waiting else ", task times without loads"
        return f"prefetch distance {distance}{alone}{', multi-buffering' if self.multi_buffered else ''}"


PREFETCH_POLICIES = (
    PrefetchPolicy(10, True, False),
    PrefetchPolicy(10, True, True),
    PrefetchPolicy(10, False, True),
    PrefetchPolicy(24, False, True),
    PrefetchPolicy(ANY_DISTANCE, False, True),
)
"""The policies, from late to early loads. Earlier loads use more of DRAM's time, but other transfers wait longer."""


def prefetch_starts(
    plans: Sequence[TaskPlan],
    chip: Chip,
    policy: PrefetchPolicy = PREFETCH_POLICIES[0],
    multi_buffered: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, int]:
    """
    Task -> the earlier task during which the loads of its first constants begin; tasks without constants are omitted.
    The first are those of the first step, or of as many as `multi_buffered` says.

    Every task leaves DRAM idle for a part of its estimated time. From the last task to the first, a task's loads use
    the remaining idle time of the tasks before it, the nearest first, until they are covered; they keep the order of
    the tasks. Long loads of a later task thus move the loads of earlier ones forward.
    """
    first = [_first_constant_bytes(plan, multi_buffered.get(number, 1)) for number, plan in enumerate(plans)]
    own = [_own_bytes(plan) - early for plan, early in zip(plans, first, strict=True)]
    if policy.waiting:
        estimate_together(plans)
        times = [plan.cycles for plan in plans]
    else:
        times = run_alone([plan.work for plan in plans], chip)
    rate = dram_rate(chip)
    idle = [max(0.0, time - moved / rate) for time, moved in zip(times, own, strict=True)]
    quiet = [_quiet_cycles(plan) for plan in plans]
    prefetch_from: dict[int, int] = {}
    latest = len(plans)
    for number in range(len(plans) - 1, 0, -1):
        needed = first[number] / rate
        if not needed:
            continue
        start = min(number, latest + 1)
        while start > max(number - policy.max_distance, 0) and (needed > 0 or start == number):
            start -= 1
            taken = min(idle[start], needed)
            idle[start] -= taken
            needed -= taken
        if start == number:
            continue
        start = min(start, latest)
        if passed := plans[number].work.passed_constants:
            # Forwarding during one task delays the exchange of the next if it takes longer.
            passed += 2 * HANDSHAKE
            choice = range(start, min(max(number - policy.max_distance, 0), start) - 1, -1)
            found = next((task for task in choice if quiet[task] >= passed), None)
            for task in (found,) if found is not None else choice:
                start, taken = task, min(quiet[task], passed)
                quiet[task] -= taken
                passed -= taken
                if passed <= 0:
                    break
        prefetch_from[number] = latest = start
    return dict(sorted(prefetch_from.items()))


def _quiet_cycles(plan: TaskPlan) -> float:
    """The time after which a task has its gathered values, so that cores may multicast loads for other tasks."""
    step = plan.work.step
    return max(plan.work.computing, float(step.root + step.rest) if plan.work.steps == 1 else 0.0)


def _first_constant_bytes(plan: TaskPlan, early: int) -> float:
    """Bytes that all cores read from DRAM for the constants of their first steps."""
    return sum(
        size.dram_bytes * min(early, size.versions) / size.versions
        for read, size in zip(plan.reads, plan.sizes, strict=True)
        if read.constant and size.buffer_bytes
    )


def _own_bytes(plan: TaskPlan) -> float:
    """Bytes that a task transfers from and to DRAM."""
    result = 0 if plan.resident else plan.tile_bytes * len(plan.tiling.cores)
    return result + sum(size.dram_bytes for size in plan.sizes)
