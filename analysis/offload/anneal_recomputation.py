"""Simulated annealing of plans with recomputation only, whose time is known without simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from .initial_cover import saved_bytes
from .recompute import KEEP, recomputations
from .simulate import NEVER, profile, run


@jit
def anneal_recomputation(
    net: Any, on_vpu: Any, allocated: Any, freed: Any, live: Any, size: Any, packed: Any, producer: Any,
    by_before: Any, before_start: Any, budget: int, copy_ns: Any, packed_ns: Any, pack_ns: Any,
    kinds: Any, alike: Any, alike_start: Any, members: Any, start: Any, evaluations: int, seed: int, price: float,
    heat: float, best: Any,
) -> int:  # fmt: skip
    """
    Anneal from `start`, a feasible plan. Returns the makespan of the best plan found, which is written to `best` [c].

    Gaps of the same kind of tensor have the same number in `alike` [c]; `members` lists them by that number, in order.
    The search also visits plans that do not fit, with a penalty of `price` ns per excess byte at the worst operation,
    which grows towards the end; a candidate for the best plan is simulated before it is accepted.
    """
    np.random.seed(seed)
    log = np.zeros((0, 4), np.int64)
    m, compute = len(size), net.duration.sum()
    plan, before = start.copy(), start.copy()
    best[:] = plan
    least, current = NEVER, np.inf
    for turn in range(evaluations + 1):
        if turn:
            before[:] = plan
            chosen = np.flatnonzero(plan != KEEP)
            a = np.random.randint(m)
            if len(chosen) and np.random.random() < 0.6:
                a = chosen[np.random.randint(len(chosen))]
            lot = np.random.random()
            if lot < 0.2:
                # Choose one kind for some gaps of the same class that are neighbours in time.
                pick = np.random.randint(len(kinds) + 1)
                kind = KEEP if pick == len(kinds) else kinds[pick]
                _spread(plan, kind, members, alike_start[alike[a]], alike_start[alike[a] + 1])
            elif plan[a] == KEEP or lot < 0.65:
                pick = np.random.randint(len(kinds) + 1)
                plan[a] = KEEP if pick == len(kinds) else kinds[pick]
            else:
                b = np.random.randint(m)
                plan[a], plan[b] = plan[b], plan[a]
                if plan[b] != KEEP and np.random.random() < 0.5:
                    # A kind that suits one gap may not suit another.
                    plan[b] = kinds[np.random.randint(len(kinds))]
        dearer = 1.0 + 20.0 * (turn / (evaluations + 1.0)) ** 2
        due, again_ns, again_room = recomputations(net, plan)
        energy = np.inf
        if again_ns.min() >= 0:
            room = profile(live, net.before, due, saved_bytes(size, packed, plan))
            worst = room.max()
            for gap in range(m):
                # Recompute before the operation that a tensor is due for, if its operands are then in memory, too.
                if again_room[gap]:
                    worst = max(worst, room[due[gap]] - allocated[due[gap]] + again_room[gap])
            energy = again_ns.sum() + dearer * price * max(0, worst - budget)
            if worst <= budget and compute + again_ns.sum() < least:
                time, _ = run(
                    net.duration, on_vpu, allocated, freed, live, net.tensor, size, packed, net.before, producer, plan,
                    due, again_ns, again_room, by_before, before_start, len(net.bytes), budget, copy_ns, packed_ns,
                    pack_ns, log,
                )  # fmt: skip
                if time < least:
                    least = time
                    best[:] = plan
        cold = heat * compute * (1.0 - turn / (evaluations + 1.0)) ** 2 + 1.0
        if energy <= current or (energy < np.inf and np.random.random() < np.exp((current - energy) / cold)):
            current = energy
        else:
            plan[:] = before
    return least


@jit
def _spread(plan: Any, kind: Any, members: Any, low: Any, high: Any) -> None:
    """Set one kind for some neighbours among the members from `low` to `high`."""
    lots = np.random.random(2)
    position = low + int(lots[0] * (high - low))
    last = position + int(lots[1] * (high - position))
    while position <= last:
        plan[members[position]] = kind
        position += 1
