"""
Multi-buffering: weights of several steps are loaded before their task where it would otherwise wait.

A task whose weights do not fit the cores beside everything else loads them step by step, into two buffers in turn, and
takes as long as DRAM does, while earlier tasks leave DRAM idle. With a buffer for each of several steps, or for all,
these weights are loaded meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...chips import Chip
from ...support.errors import InputError, ResourceError
from ..search import ACCEPT_RATIO
from .network_estimate import TaskWorks
from .plan_network import NetworkPlan
from .plan_task import TaskPlan, aligned
from .prefetch import specified_prefetch
from .prefetch_candidates import prefetch_starts
from .sram_layout import SramLayout, estimated_times, lay_out, lay_out_sram

TASKS = 8
"""Largest number of tasks that are tried: those that wait longest."""


def lay_out_multi_buffered(network: NetworkPlan, chip: Chip, works: TaskWorks) -> SramLayout:
    """
    As `lay_out_sram`, with its errors; a multi-buffering policy adds buffers for weights if the estimate is then less.
    If tasks specify their prefetch, it is used; InputError names a task for which that is impossible.
    """
    if (written := specified_prefetch(network)) is not None:
        return _as_written(network, chip, *written)
    policy = network.policy
    key = "layout", policy.max_distance, policy.waiting
    best = works.once(key, lambda: lay_out_sram(network, chip, works))
    if not policy.multi_buffered or network.loops:
        return best
    cycles = sum(estimated_times(network, best, chip, works))
    waits = {
        task: wait for task, plan in enumerate(network.plans) if (wait := _waits(plan)) > cycles * (1 - ACCEPT_RATIO)
    }
    for task in sorted(waits, key=lambda task: (-waits[task], task))[:TASKS]:
        for buffers in _depths(network.plans[task], chip):
            found = _deepened(network, best, task, buffers, chip)
            if found is None:
                continue
            after = sum(estimated_times(network, found, chip, works))
            if after < cycles * ACCEPT_RATIO:
                best, cycles = found, after
                break
    return best


def _as_written(network: NetworkPlan, chip: Chip, ahead: dict[int, int], multi_buffered: dict[int, int]) -> SramLayout:
    layout = lay_out(network, chip, ahead, multi_buffered)
    for task, start in ahead.items():
        if layout.ahead.get(task) != start:
            raise InputError(
                f"task '{network.tasks[task].name}' is to load its constants {task - start} tasks ahead, but then the "
                "buffers of the cores do not fit in SRAM: load them later ('prefetch')"
            )
    return layout


def _waits(plan: TaskPlan) -> float:
    """Cycles by which weights that every step loads lengthen a task beyond its computation; 0: there are none."""
    changing = [plan.changes_always(number) for number in range(len(plan.reads))]
    passed_on = any(size.received_bytes for size, always in zip(plan.sizes, changing, strict=True) if always)
    in_turn = any(
        read.constant and size.versions > 1 and not always
        for read, size, always in zip(plan.reads, plan.sizes, changing, strict=True)
    )
    # What cores pass on keeps the network busy, and what changes at another pace has a buffer too few.
    if plan.slots == 1 or not any(changing) or passed_on or in_turn:
        return 0.0
    work = plan.work
    return min(work.own_dram - work.computing, work.later_constants * (work.steps - 1))


def _depths(plan: TaskPlan, chip: Chip) -> Iterator[int]:
    """Numbers of buffers to try, from the number of steps down; those that do not fit are left out."""
    each = sum(aligned(size.buffer_bytes) for number, size in enumerate(plan.sizes) if plan.changes_always(number))
    buffers = plan.tiling.step_count
    while buffers > 1:
        if plan.working_bytes + (buffers - plan.slots) * each <= chip.sram_bytes:
            yield buffers
        buffers = (buffers + 1) // 2 if buffers > 3 else buffers - 1


def _deepened(network: NetworkPlan, layout: SramLayout, task: int, buffers: int, chip: Chip) -> SramLayout | None:
    """`layout` with so many buffers for the weights of a task, all prefetched; None if they do not fit."""
    multi_buffered = {**layout.multi_buffered, task: buffers}
    starts = [
        ahead[task]
        for ahead in (layout.ahead, prefetch_starts(network.plans, chip, network.policy, multi_buffered))
        if task in ahead
    ]
    ahead = {**layout.ahead, **({task: min(starts)} if starts else {})}
    try:
        return lay_out(network, chip, dict(sorted(ahead.items())), multi_buffered)
    except ResourceError:
        return None
