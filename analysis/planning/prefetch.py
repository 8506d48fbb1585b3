"""The prefetch that tasks specify."""

from __future__ import annotations

from ...support.errors import InputError
from .network_plan import NetworkPlan


def specified_prefetch(network: NetworkPlan) -> tuple[dict[int, int], dict[int, int]] | None:
    """
    (task -> the earlier task during which its first constants are loaded, task -> the number of its steps whose
    constants these are, if it is not 1); None if no task specifies prefetch.

    Raises InputError naming a task whose loads would begin before the first task, or for more steps than possible.
    """
    if all(info.op.prefetch is None for info in network.tasks):
        return None
    prefetch_from: dict[int, int] = {}
    multi_buffered: dict[int, int] = {}
    for number, (info, plan) in enumerate(zip(network.tasks, network.plans, strict=True)):
        tasks = 0 if info.op.prefetch is None else info.op.prefetch.value.data
        steps = 1 if info.op.prefetch_steps is None else info.op.prefetch_steps.value.data
        if tasks > number:
            raise InputError(
                f"task '{info.name}' loads its constants {tasks} tasks ahead, but only {number} are before it"
            )
        if tasks:
            prefetch_from[number] = number - tasks
        if steps > 1:
            if not any(plan.changes_always(read) for read in range(len(plan.reads))):
                raise InputError(
                    f"task '{info.name}' loads constants of {steps} steps ahead, but has none that change in every step"
                )
            multi_buffered[number] = steps
    return prefetch_from, multi_buffered
