"""
Lower bounds on the time under a budget, in closed form.

While operation i runs, at least X bytes, the excess over the budget, are offloaded. Bytes that are saved by the link
are copied out after the first tensor that is offloaded has been computed, and are copied back before the last of them
is used:

    T >= max(C_i, t1 + L / bw) + d_i + max(R_i, L / bw + tail)

with C_i the compute time before i, R_i the compute time after it, t1 the end of the earliest producer of a tensor that
may be offloaded at i, tail the compute time from the last use after such a gap on, and L <= X the bytes that must go
over the link. Compression alone saves at most (1 - 1 / ratio) of all bytes that may be offloaded; each further byte
costs a byte of the link. For recomputed tensors, each byte costs at least its own operation's time, which is added to
R_i; the cheapest bytes are counted first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat, Ints
from .evaluate import Evaluator
from .kinds import Kind

WORST = 512
"""
Number of operations, the worst ones, over which the maximum is taken. The result is a lower bound for any number; this
one makes it cheap for large graphs.
"""
SHARES = 64
"""Number of shares of the excess that are tried for recomputation in place of the link."""


def lower_bound_ns(evaluator: Evaluator, kinds: tuple[Kind, ...], budget: int) -> int:
    """Lower bound (ns) of the executions within the budget that save memory by these kinds."""
    problem, model = evaluator.problem, evaluator.model
    excess = problem.live - budget
    ops = np.argsort(-excess, kind="stable")[:WORST]
    ops = ops[excess[ops] > 0]
    if not len(ops) or not problem.gaps:
        return problem.compute_ns
    packs, copies = Kind.COMPRESS in kinds, Kind.SWAP in kinds
    again = problem.duration[problem.producer] if Kind.RECOMPUTE in kinds else None
    # Cheapest bytes first; without recomputation there are none.
    rate = np.zeros(0) if again is None else again / problem.size
    cheap = np.argsort(rate, kind="stable").astype(np.int64)
    saved = problem.size - model.packed(problem.size) if packs else np.zeros(problem.gaps, np.int64)
    link = model.link / 1e9 if copies else 0.0
    time = _bound(
        problem.duration, problem.size, problem.before, problem.after, problem.producer, ops.astype(np.int64),
        excess, saved, cheap, rate, link,
    )  # fmt: skip
    return int(time)


@jit
def _bound(
    duration: Flat, size: Flat, before: Flat, after: Flat, producer: Flat, ops: Ints, excess: Flat, saved: Flat,
    cheap: Flat, rate: Any, link: float,
) -> Any:  # fmt: skip
    """
    The bound of the module's docstring; `link` in bytes per ns, 0: none; `cheap` [c or 0] gaps by `rate` [c], ns per
    byte.
    """
    done = np.zeros(len(duration) + 1, np.int64)
    done[1:] = np.cumsum(duration)
    total = done[-1]
    best = float(total)
    candidates = np.empty(len(size), np.int64)  # tensors that may be recomputed after the operation, the cheapest first
    for i in ops:
        x, relief, bytes_over = excess[i], 0, 0
        first, last = total, 0
        for c in range(len(size)):
            if before[c] < i < after[c]:
                relief += saved[c]
                bytes_over += size[c]
                first = min(first, done[producer[c] + 1])
                last = max(last, after[c])
        if bytes_over == 0:
            continue
        left = max(0, x - relief)
        count = 0
        for c in cheap:
            if before[c] < i < after[c]:
                candidates[count] = c
                count += 1
        least, taken, again_taken, some = np.inf, 0, 0.0, 0.0
        for share in range(SHARES if len(cheap) else 1):
            # These shares of the rest are recomputed; without a link, all of it.
            low = left * share / SHARES if link > 0.0 else float(left)
            high = min(float(left), left * (share + 1.0) / SHARES) if len(cheap) else 0.0
            while taken < count and some + size[candidates[taken]] < low:
                again_taken += size[candidates[taken]] * rate[candidates[taken]]
                some += size[candidates[taken]]
                taken += 1
            again = again_taken + ((low - some) * rate[candidates[taken]] if taken < count else 0.0)
            moved = (left - high) / link if link > 0.0 else 0.0
            tail = total - done[last]
            time = max(float(done[i]), first + moved) + duration[i]
            time += max(float(total - done[i + 1]) + again, moved + tail)
            least = min(least, time)
            if link <= 0.0:
                break
        best = max(best, least)
    return best
