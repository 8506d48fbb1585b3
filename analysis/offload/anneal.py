"""Simulated annealing of the kinds of gaps for a small simulated makespan."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from .recompute import KEEP, recomputations
from .simulate import NEVER, run


@jit
def anneal(
    net: Any, on_vpu: Any, allocated: Any, freed: Any, live: Any, size: Any, packed: Any, producer: Any,
    by_before: Any, before_start: Any, budget: int, copy_ns: Any, packed_ns: Any, pack_ns: Any,
    kinds: Any, start: Any, evaluations: int, seed: int, heat: float, best: Any,
) -> int:  # fmt: skip
    """
    Anneal from `start`, a feasible plan. Returns the makespan of the best plan found, which is written to `best` [c].
    """
    np.random.seed(seed)
    log = np.zeros((0, 4), np.int64)
    m = len(size)
    plan = start.copy()
    best[:] = plan
    least = current = NEVER
    total = float(net.duration.sum())
    for turn in range(evaluations + 1):
        old_a, old_b, a, b = 0, 0, -1, -1
        if turn:
            chosen = np.flatnonzero(plan != KEEP)
            a = np.random.randint(m)
            if len(chosen) and np.random.random() < 0.7:
                a = chosen[np.random.randint(len(chosen))]
            old_a = plan[a]
            if old_a == KEEP or np.random.random() < 0.6:
                # Choose another kind for one gap.
                while plan[a] == old_a:
                    pick = np.random.randint(len(kinds) + 1)
                    plan[a] = KEEP if pick == len(kinds) else kinds[pick]
            else:
                # Its kind moves to another gap, preferably of a large tensor.
                b = np.random.randint(m)
                rival = np.random.randint(m)
                if size[rival] > size[b]:
                    b = rival
                old_b = plan[b]
                if old_a == old_b:
                    continue
                plan[a], plan[b] = old_b, old_a
        due, again_ns, again_room = recomputations(net, plan)
        time, _ = run(
            net.duration, on_vpu, allocated, freed, live, net.tensor, size, packed, net.before, producer, plan, due,
            again_ns, again_room, by_before, before_start, len(net.bytes), budget, copy_ns, packed_ns, pack_ns, log,
        )  # fmt: skip
        cold = heat * total * (1.0 - turn / (evaluations + 1.0))
        if time <= current or (time < NEVER and np.random.random() < np.exp((current - time) / cold)):
            current = time
            if time < least:
                least = time
                best[:] = plan
        else:
            plan[a] = old_a
            if b >= 0:
                plan[b] = old_b
    return least
