"""The initial cover: a first choice of gaps and kinds whose memory profile stays within a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from .recompute import COMPRESS, KEEP, RECOMPUTE, recomputations
from .simulate import profile

ALONE = 8
"""Number of gaps that are examined one by one if several together relieve nothing."""


@jit
def initial_cover(net: Any, live: Any, size: Any, packed: Any, kinds: Any, score: Any, budget: int, plan: Any) -> bool:
    """
    Add gaps to `plan` [c] until the profile stays within the budget. Returns whether that succeeds.

    The worst operation is relieved first, by the gap over it with the largest `score` [kinds, c] of the `kinds`
    (negative: must not be taken).
    """
    while len(live):
        due, _, _ = recomputations(net, plan)
        room = profile(live, net.before, due, saved_bytes(size, packed, plan))
        stale = False
        while not stale:
            worst = np.argmax(room)
            if room[worst] <= budget:
                return True
            best, chosen, best_score = -1, 0, -1.0
            for c in range(len(size)):
                if net.before[c] < worst < due[c] and plan[c] == KEEP:
                    for k in range(len(kinds)):
                        if score[k, c] > best_score:
                            best, chosen, best_score = c, kinds[k], score[k, c]
            if best < 0:
                return False
            plan[best] = chosen
            room[net.before[best] + 1 : due[best]] -= size[best] - packed[best] if chosen == COMPRESS else size[best]
            # Other tensors may be due earlier now, so the profile is recomputed.
            stale = chosen == RECOMPUTE
    return True


@jit
def take_in_order(
    net: Any, live: Any, size: Any, packed: Any, order: Any, kind: int, budget: int, plan: Any
) -> bool:  # fmt: skip
    """
    Add the gaps of `order` over an operation that is over the budget to `plan` [c], all of one kind.

    Returns whether the profile then stays within the budget. If not, all gaps over some operation have been taken, so
    there is no plan for a smaller budget either.
    """
    due, _, _ = recomputations(net, plan)
    room = profile(live, net.before, due, saved_bytes(size, packed, plan))
    for c in order:
        first, last = net.before[c] + 1, net.after[c]
        if plan[c] == KEEP and room[first:last].max() > budget:
            plan[c] = kind
            room[first:last] -= size[c] - packed[c] if kind == COMPRESS else size[c]
    return len(room) == 0 or room.max() <= budget


@jit
def cover_by_effect(
    net: Any, live: Any, size: Any, packed: Any, kinds: Any, score: Any, tries: int, budget: int, together: bool,
    plan: Any,
) -> bool:  # fmt: skip
    """
    As `initial_cover`, for recomputation: of the `tries` gaps with the largest score over the worst operation, the one
    that saves the most excess bytes relative to its time is taken, including everything that is recomputed from it.
    With `together`, as many gaps are taken at a time as the worst operation needs: for graphs with very many gaps.
    """
    ones = np.empty(tries, np.int64)
    excess, cost, due, room = _excess(net, live, size, packed, budget, plan)
    while excess > 0:
        worst = np.argmax(room)
        count = _over(net, score, due, plan, worst, ones)
        if together and count > 1:
            over, some = room[worst] - budget, 0
            taken = ones[:count][np.argsort(-score[ones[:count]], kind="mergesort")]
            while some < count and over > 0:
                over -= size[taken[some]]
                some += 1
            helped = False
            while some > 1 and not helped:
                plan[taken[:some]] = kinds[0]
                less, more, new_due, new_room = _excess(net, live, size, packed, budget, plan)
                helped = less < excess
                if helped:
                    excess, cost, due, room = less, more, new_due, new_room
                else:
                    plan[taken[:some]] = KEEP
                    some //= 2
            if helped:
                continue
            count = min(count, ALONE)
            ones[:count] = taken[:count]
        best, chosen, best_rate, best_excess, best_cost = -1, 0, 0.0, excess, cost
        for k in range(count):
            for kind in kinds:
                plan[ones[k]] = kind
                less, more, new_due, new_room = _excess(net, live, size, packed, budget, plan)
                rate = (excess - less) / (max(more - cost, 0) + 1.0)
                if rate > best_rate:
                    best, chosen, best_rate, best_excess, best_cost = ones[k], kind, rate, less, more
                    due, room = new_due, new_room
            plan[ones[k]] = KEEP
        if best < 0:
            return False
        plan[best] = chosen
        excess, cost = best_excess, best_cost
    return True


@jit
def _over(net: Any, score: Any, due: Any, plan: Any, worst: Any, ones: Any) -> int:
    """
    Write the gaps over an operation with the largest scores to `ones`, as many as it can hold. Returns their number.
    """
    count, least = 0, 0
    for c in range(len(score)):
        if plan[c] != KEEP or not net.before[c] < worst < due[c] or score[c] < 0:
            continue
        if count < len(ones):
            ones[count] = c
            count += 1
        elif score[c] > score[ones[least]]:
            ones[least] = c
        else:
            continue
        if count == len(ones):
            least = 0
            for k in range(1, count):
                if score[ones[k]] < score[ones[least]]:
                    least = k
    return count


@jit
def saved_bytes(size: Any, packed: Any, plan: Any):
    """[c] bytes that the plan saves in each gap."""
    saved = np.zeros(len(size), np.int64)
    for c in range(len(size)):
        if plan[c] == COMPRESS:
            saved[c] = size[c] - packed[c]
        elif plan[c] != KEEP:
            saved[c] = size[c]
    return saved


@jit
def _excess(net: Any, live: Any, size: Any, packed: Any, budget: int, plan: Any):
    """
    (bytes over the budget, summed over operations; ns of recomputation; operations at which tensors are due; profile).

    The sums are large for chains that are too long.
    """
    due, ns, _ = recomputations(net, plan)
    room = profile(live, net.before, due, saved_bytes(size, packed, plan))
    excess = 0
    for k in range(len(room)):
        excess += max(0, room[k] - budget)
    cost = 0
    for c in range(len(ns)):
        if ns[c] < 0:
            return 1 << 60, 1 << 60, due, room
        cost += ns[c]
    return excess, cost, due, room
