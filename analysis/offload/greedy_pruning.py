"""Greedy pruning of first plans with much recomputation: tensors are kept in memory as far as the budget allows."""

from __future__ import annotations

from typing import Any

from ...support.jit import jit
from .recompute import KEEP, recomputations
from .simulate import NEVER, run


@jit
def prune_greedily(
    net: Any, on_vpu: Any, allocated: Any, freed: Any, live: Any, size: Any, packed: Any, producer: Any,
    by_before: Any, before_start: Any, budget: int, copy_ns: Any, packed_ns: Any, pack_ns: Any,
    kinds: Any, order: Any, log: Any, plan: Any,
) -> int:  # fmt: skip
    """
    Keep tensors in memory, or save them by another of `kinds`, gap by gap in `order`, if that makes the plan [c]
    faster.

    Returns the makespan of the plan; `NEVER` if it does not fit.
    """
    least = NEVER
    for turn in range(-1, len(order)):
        tries = 1 if turn < 0 else len(kinds) + 1
        for pick in range(tries):
            gap, old = 0, 0
            if turn >= 0:
                gap = order[turn]
                old = plan[gap]
                if old == KEEP:
                    break
                plan[gap] = KEEP if pick == 0 else kinds[pick - 1]
                if plan[gap] == old:
                    continue
            due, again_ns, again_room = recomputations(net, plan)
            time, _ = run(
                net.duration, on_vpu, allocated, freed, live, net.tensor, size, packed, net.before, producer, plan, due,
                again_ns, again_room, by_before, before_start, len(net.bytes), budget, copy_ns, packed_ns, pack_ns, log,
            )  # fmt: skip
            if time < least:
                least = time
                if pick == 0 and turn >= 0:
                    break
            elif turn >= 0:
                plan[gap] = old
        if least >= NEVER:
            return least
    return least
