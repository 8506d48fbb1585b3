"""
Multi-buffering: weights of several steps are loaded before their task if the task would otherwise wait for them.

A task whose weights do not fit in SRAM together with everything else loads them step by step, into two alternating
buffers, and takes as long as these loads, while earlier tasks leave DRAM idle. With a buffer for each of several steps,
or for all, these weights are loaded during the earlier tasks.

Cores load in the order of their instructions. A load of a later step that waits for memory in use delays all prefetches
after it, even if it has few bytes. So tasks with few weights get a buffer for each step.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...chips import Chip
from ...support.errors import InputError, ResourceError
from ..search import ACCEPT_RATIO
from .network_estimate import TaskWorks
from .network_plan import NetworkPlan
from .prefetch import specified_prefetch
from .prefetch_candidates import prefetch_starts
from .sram_layout import SramLayout, estimated_times, lay_out, lay_out_sram
from .task_plan import TaskPlan, aligned

TASKS = 8
"""Largest number of tasks that are tried, those that wait longest."""


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
    for buffers in _one_a_step(network, chip):
        found = _with_buffers(network, {**buffers, **best.multi_buffered}, chip)
        if found is not None and sum(estimated_times(network, found, chip, works)) < cycles * ACCEPT_RATIO:
            return found
    return best


def _one_a_step(network: NetworkPlan, chip: Chip) -> Iterator[dict[int, int]]:
    """
    Task -> a buffer for the weights of each of its steps: for all tasks that could have more than two, then for half of
    them, those with the fewest bytes.
    """
    steps = {number: plan.tiling.step_count for number, plan in enumerate(network.plans)}
    found: list[tuple[int, int]] = []
    for number, plan in enumerate(network.plans):
        nbytes = steps[number] * _step_bytes(plan)
        if steps[number] > 1 and nbytes and _fits(plan, steps[number], chip):
            found.append((nbytes, number))
    found.sort()
    for count in dict.fromkeys((len(found), len(found) // 2)):
        if count:
            yield {number: steps[number] for number in sorted(number for _, number in found[:count])}


def _with_buffers(network: NetworkPlan, buffers: dict[int, int], chip: Chip) -> SramLayout | None:
    """The layout with `buffers` (task -> number) for the weights of tasks, all prefetched; None if they do not fit."""
    prefetch_from = prefetch_starts(network.plans, chip, network.policy, buffers)
    try:
        return lay_out(network, chip, prefetch_from, buffers)
    except ResourceError:
        return None


def _as_written(
    network: NetworkPlan, chip: Chip, prefetch_from: dict[int, int], multi_buffered: dict[int, int]
) -> SramLayout:
    layout = lay_out(network, chip, prefetch_from, multi_buffered)
    for task, start in prefetch_from.items():
        if layout.prefetch_from.get(task) != start:
            raise InputError(
                f"task '{network.tasks[task].name}' loads its constants {task - start} tasks ahead, for "
                "which SRAM has no space: load them later ('prefetch')"
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
    # Data that cores forward keeps the network busy, and constants that do not change in every step would need more
    # buffers.
    if plan.slots == 1 or not any(changing) or passed_on or in_turn:
        return 0.0
    work = plan.work
    return min(work.own_dram - work.computing, work.later_constants * (work.steps - 1))


def _depths(plan: TaskPlan, chip: Chip) -> Iterator[int]:
    """Numbers of buffers to try, from the number of steps down; those that do not fit are omitted."""
    buffers = plan.tiling.step_count
    while buffers > 1:
        if _fits(plan, buffers, chip):
            yield buffers
        buffers = (buffers + 1) // 2 if buffers > 3 else buffers - 1


def _step_bytes(plan: TaskPlan) -> int:
    """Bytes of the buffers of the weights of one step, of those that change in every step."""
    return sum(aligned(size.buffer_bytes) for number, size in enumerate(plan.sizes) if plan.changes_always(number))


def _fits(plan: TaskPlan, buffers: int, chip: Chip) -> bool:
    """Whether a task fits the cores with `buffers` buffers for its weights."""
    return plan.working_bytes + (buffers - plan.slots) * _step_bytes(plan) <= chip.sram_bytes


def _deepened(network: NetworkPlan, layout: SramLayout, task: int, buffers: int, chip: Chip) -> SramLayout | None:
    """`layout` with `buffers` buffers for the weights of a task, all prefetched; None if they do not fit."""
    multi_buffered = {**layout.multi_buffered, task: buffers}
    found = [
        prefetch_from[task]
        for prefetch_from in (
            layout.prefetch_from,
            prefetch_starts(network.plans, chip, network.policy, multi_buffered),
        )
        if task in prefetch_from
    ]
    prefetch_from = {**layout.prefetch_from, **({task: min(found)} if found else {})}
    try:
        return lay_out(network, chip, dict(sorted(prefetch_from.items())), multi_buffered)
    except ResourceError:
        return None
