"""A check that a plan of a network leaves the values of loops where their steps expect them."""

from __future__ import annotations

from ...dialects.dataflow.types import shape_of
from ...dialects.locations import located
from ...support.errors import ResourceError
from .loops import LoopSpan, memory_root, part_of
from .network_plan import NetworkPlan


def check_loops(network: NetworkPlan) -> None:
    """
    Raises ResourceError, located, for a loop whose values do not stay in the cores, or whose steps do not leave carried
    values where the loop expects them.
    """
    numbers = {info.result: number for number, info in enumerate(network.tasks)}
    for span in network.loops:
        for number in range(span.first, span.last + 1):
            info, plan = network.tasks[number], network.plans[number]
            if not plan.resident and part_of(info.result) is None:
                raise _no_loop(span, f"the result of task '{info.name}' does not stay in the cores")
        cores = {core for info in network.tasks for core in network.plans[numbers[info.result]].tiling.cores}
        for value in span.numbers:
            plan = None if value not in numbers else network.plans[numbers[value]]
            if plan is None or not plan.resident or not cores <= set(plan.tiling.cores):
                raise _no_loop(span, "not every core has the number of its steps")
        for first, value in zip(span.op.initial, span.op.yielded, strict=False):
            begin, again = numbers.get(memory_root(first)), numbers.get(value)
            if begin is None or again is None or begin >= span.first:
                raise _no_loop(span, "it carries a value that no task computes")
            before, after = network.plans[begin], network.plans[again]
            if not before.resident or not after.resident:
                raise _no_loop(span, f"'{network.tasks[again].name}' does not stay in the cores")
            here = after.distribution.reshaped(shape_of(value), shape_of(first))
            there = before.distribution.reshaped(shape_of(network.tasks[begin].result), shape_of(first))
            if here is None or there is None or here.boxes != there.boxes:
                raise _no_loop(
                    span, f"tasks '{network.tasks[begin].name}' and '{network.tasks[again].name}' are tiled differently"
                )


def _no_loop(span: LoopSpan, why: str) -> ResourceError:
    error = ResourceError(f"a loop of {span.steps} steps cannot be compiled as a loop: {why}", "SRAM of a core", 0, 0)
    return located(error, span.op)
