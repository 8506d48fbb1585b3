"""One-point crossover of two plans: the first gaps of an order as in one plan, the rest as in the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from .initial_cover import initial_cover
from .recompute import recomputations
from .simulate import NEVER, run


@jit
def crossover(
    net: Any, on_vpu: Any, allocated: Any, freed: Any, live: Any, size: Any, packed: Any, producer: Any,
    by_before: Any, before_start: Any, budget: int, copy_ns: Any, packed_ns: Any, pack_ns: Any,
    kinds: Any, score: Any, orders: Any, cuts: int, one: Any, other: Any, best: Any,
):  # fmt: skip
    """
    Cut each of `orders` [o, c] at `cuts` positions, with either plan [c] first. The fastest plans are written to `best`
    [k, c]; their times in ns, [k], are returned.

    Cuts are made only among gaps in which the plans differ. Excess over the budget is then saved by `kinds`, see
    `initial_cover`. The plans in `best` differ in time; `NEVER` means that there is no plan.
    """
    m, keep = len(size), len(best)
    log = np.zeros((0, 4), np.int64)
    times = np.full(keep, NEVER, np.int64)
    chosen = np.empty(m, np.int64)
    plan = np.empty(m, np.int64)
    for row in range(len(orders)):
        count = 0
        for c in orders[row]:
            if one[c] != other[c]:
                chosen[count] = c
                count += 1
        last = 0
        for step in range(1, cuts + 1):
            cut = step * count // (cuts + 1)
            if cut == last:
                continue
            last = cut
            for turn in range(2):
                plan[:] = other if turn else one
                for q in range(cut):
                    plan[chosen[q]] = one[chosen[q]] if turn else other[chosen[q]]
                if not initial_cover(net, live, size, packed, kinds, score, budget, plan):
                    continue
                due, again_ns, again_room = recomputations(net, plan)
                time, _ = run(
                    net.duration, on_vpu, allocated, freed, live, net.tensor, size, packed, net.before, producer, plan,
                    due, again_ns, again_room, by_before, before_start, len(net.bytes), budget, copy_ns, packed_ns,
                    pack_ns, log,
                )  # fmt: skip
                position = keep
                while position > 0 and times[position - 1] > time:
                    position -= 1
                if position == keep or (position > 0 and times[position - 1] == time):
                    continue
                for k in range(keep - 1, position, -1):
                    times[k] = times[k - 1]
                    best[k] = best[k - 1]
                times[position] = time
                best[position] = plan
    return times
