"""
Complete search for offsets of buffers within a capacity.

Buffers are placed from the bottom up: in order of their offsets, each directly above the buffers below it (any packing
can be compacted into that form). Of two choices that differ only in order one is tried; a buffer is not skipped if it
would have fitted below the one that is placed; if, at some time, the bytes of the remaining buffers do not fit above
the placed ones, the search backtracks (M. D. Moffitt, "MiniMalloc: a lightweight memory allocator for
hardware-accelerated machine learning", 2023). In addition to that paper, each failure names buffers that cannot be
placed above those below them; the search backtracks to a choice that overlaps these in time. Searches with several
orders and some noise alternate, because it cannot be predicted which of them succeeds first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...support.jit import jit

Ints = NDArray[np.int64]

FOUND, IMPOSSIBLE, UNKNOWN = 1, 0, 2
TURN = 100_000_000
"""Number of steps of one turn: buffers and times visited; a step takes about a nanosecond."""
MOST_BUFFERS = 4_000
"""Largest number of buffers; for larger problems even one attempt would take too long."""
KEPT = 256
"""Number of searches whose results are cached, of up to a hundred kilobytes each."""
_ORDERS = ("TAW", "TWA", "WAT", "ATW", "WTA", "AWT", "STW", "SWT")
"""
Criteria for the buffer that is tried first: live bytes during its lifetime (T), area (A), length of lifetime (W), size
(S).
"""


def fitting_offsets(size: Ints, first: Ints, last: Ints, capacity: int, work: int, seed: int = 0) -> Ints | None:
    """
    Offsets for buffers of `size` bytes that are live from `first` to `last` (both included), such that all end at
    `capacity` at most.

    None if there are none, or if none are found in `work` steps (about a nanosecond each). Empty buffers have offset 0.
    """
    offsets = np.zeros(len(size), np.int64)
    real = np.flatnonzero(size > 0)
    for group in _apart(first[real], last[real]):
        ones = real[group]
        if len(ones) > MOST_BUFFERS:
            return None
        found = _fitting(size[ones], first[ones], last[ones], capacity, work, seed)
        if found is None:
            return None
        offsets[ones] = found
    return offsets


def _apart(first: Ints, last: Ints) -> list[Ints]:
    """Groups of buffers such that buffers of different groups are never live at the same time."""
    order = np.argsort(first, kind="stable")
    reach = np.maximum.accumulate(last[order])
    return np.split(order, np.flatnonzero(first[order][1:] > reach[:-1]) + 1) if len(order) else []


def _fitting(size: Ints, first: Ints, last: Ints, capacity: int, work: int, seed: int) -> Ints | None:
    """As `fitting_offsets`, for buffers in order of `first`."""
    # Between two times at which a buffer begins, only the first one matters.
    moments = np.unique(first)
    begin = np.searchsorted(moments, first).astype(np.int64)
    end = np.searchsorted(moments, last, side="right").astype(np.int64)
    return _turns(size.astype(np.int64).tobytes(), begin.tobytes(), end.tobytes(), capacity, work, seed)


@lru_cache(maxsize=KEPT)
def _turns(sizes: bytes, begins: bytes, ends: bytes, capacity: int, work: int, seed: int) -> Ints | None:
    """
    Alternating searches for buffers with their sizes, first times and end times (not included), as bytes of i64. Plans
    that differ elsewhere allocate the same buffers repeatedly, and if no allocation exists, each search uses all of its
    steps; so results are cached.
    """
    size, begin, end = (np.frombuffer(each, np.int64).copy() for each in (sizes, begins, ends))
    touching = _touching(begin, end)
    lots = np.random.default_rng(seed)
    offsets = np.zeros(len(size), np.int64)
    turn = 0
    while work > 0:
        name = _ORDERS[turn % len(_ORDERS)]
        rank = _rank(name, size, begin, end).astype(np.float64)
        if turn >= len(_ORDERS):
            rank += lots.normal(0, len(size) / 60 * (1 + turn // len(_ORDERS) % 4), len(size))
        position = np.empty(len(size), np.int64)
        position[np.argsort(rank, kind="stable")] = np.arange(len(size))
        # Most turns are short, some longer.
        limit = min(work, TURN * (turn + 1 & -(turn + 1)))
        result, left = _search(size, begin, end, position, touching, capacity, limit, offsets)
        if result != UNKNOWN:
            offsets.setflags(write=False)
            return offsets if result == FOUND else None
        work -= limit - max(0, int(left))
        turn += 1
    return None


def _rank(criteria: str, size: Ints, begin: Ints, end: Ints) -> Ints:
    """[b] rank of each buffer in the order of these criteria, the largest first."""
    most = most_alive(size, begin, end)
    values = {"T": most, "A": size * (end - begin), "W": end - begin, "S": size}
    rank = np.empty(len(size), np.int64)
    rank[np.lexsort([-values[one] for one in reversed(criteria)])] = np.arange(len(size))
    return rank


def most_alive(size: Ints, begin: Ints, end: Ints) -> Ints:
    """[b] largest number of live bytes during each buffer's lifetime, from `begin` to `end` (not included)."""
    moments = int(end.max(initial=0))
    change = np.zeros(moments + 1, np.int64)
    np.add.at(change, begin, size)
    np.add.at(change, end, -size)
    # Maxima over 1, 2, 4 ... times from each one on: any span is the union of two of them, which may overlap.
    most, maxima = np.zeros(len(size), np.int64), np.cumsum(change)[:moments]
    doublings = np.frexp((end - begin).astype(np.float64))[1] - 1
    for doubling in range(int(doublings.max(initial=-1)) + 1):
        span = 1 << doubling
        ones = np.flatnonzero(doublings == doubling)
        most[ones] = np.maximum(maxima[begin[ones]], maxima[end[ones] - span])
        maxima = np.maximum(maxima[:-span], maxima[span:])
    return most


@jit
def _touching(begin: Any, end: Any):
    """[b, words] the buffers that are live at the same time as each buffer, as bits."""
    n = len(begin)
    bits = np.zeros((n, (n + 63) // 64), np.uint64)
    for a in range(n):
        for b in range(n):
            if begin[a] < end[b] and begin[b] < end[a]:
                bits[a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    return bits


@jit
def _search(
    size: Any, begin: Any, end: Any, rank: Any, touching: Any, capacity: int, work: int, offsets: Any
) -> tuple[int, int]:
    """
    (FOUND, IMPOSSIBLE or UNKNOWN, work left). Buffers are in order of `begin`; those with a smaller `rank` first.

    A level places one buffer of a group: the remaining buffers between two times that no remaining buffer crosses.
    """
    n, words = len(size), touching.shape[1]
    support = np.zeros(n, np.int64)  # the top of the buffers below a buffer
    placed = np.zeros(n, np.bool_)
    # For each level: its group, the offset and rank placed before it, its choice, and the level to backtrack to.
    low_index, high_index = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    floor, after = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    choice, limit, parent = np.full(n + 2, -1, np.int64), np.zeros(n + 2, np.int64), np.full(n + 2, -1, np.int64)
    undo_from, groups_from = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    why = np.zeros((n + 2, words), np.uint64)
    undo_buffer, undo_support, undone = np.empty(n * n + 1, np.int32), np.empty(n * n + 1, np.int64), 0
    groups, waiting = np.zeros((n + 2, 5), np.int64), 0
    changed_from, changed_to = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)  # times that a choice changed
    moments = end.max()
    rest, least = np.zeros(moments, np.int64), np.zeros(moments, np.int64)  # bytes to place, and the lowest support
    for b in range(n):
        rest[begin[b] : end[b]] += size[b]

    groups[0, 0], groups[0, 1], groups[0, 2], groups[0, 3], groups[0, 4] = 0, n, 0, -1, -1
    waiting = 1
    level = -1
    entering = True
    while True:
        if entering:
            if waiting == 0:
                return FOUND, work
            # The next group begins a level.
            waiting -= 1
            level += 1
            low_index[level], high_index[level] = groups[waiting, 0], groups[waiting, 1]
            floor[level], after[level], parent[level] = groups[waiting, 2], groups[waiting, 3], groups[waiting, 4]
            choice[level] = -1
            undo_from[level], groups_from[level] = undone, waiting
            if work <= 0:
                return UNKNOWN, work
            # Check for each time whether the remaining buffers fit. If nothing has changed, all are at least as high.
            low, top, under = floor[level], 1 << 62, -1
            changed, until = 0, moments
            if parent[level] >= 0:
                changed, until = changed_from[parent[level]], changed_to[parent[level]]
            least[changed:until] = capacity
            first_moment, last_moment = moments, 0
            for b in range(low_index[level], high_index[level]):
                if placed[b]:
                    continue
                first_moment, last_moment = min(first_moment, begin[b]), max(last_moment, end[b])
                if support[b] + size[b] < top:
                    top, under = support[b] + size[b], b
                if begin[b] < until and changed < end[b]:
                    here = max(support[b], low)
                    for x in range(max(begin[b], changed), min(end[b], until)):
                        least[x] = min(least[x], here)
                    work -= min(end[b], until) - max(begin[b], changed)
            work -= 2 * (high_index[level] - low_index[level]) + last_moment - first_moment
            limit[level] = top
            failed = -1
            for x in range(first_moment, last_moment):
                if (least[x] if changed <= x < until else low) + rest[x] > capacity:
                    failed = x
                    break
            why[level] = 0
            if failed >= 0:
                for b in range(low_index[level], high_index[level]):
                    if not placed[b] and begin[b] <= failed < end[b]:
                        why[level, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
            else:
                why[level, under >> 6] |= np.uint64(1) << np.uint64(under & 63)
                entering = False
        if entering:
            jump = True
        else:
            # The next choice: the lowest offset, the first rank.
            old = choice[level]
            old_offset, old_rank = floor[level], after[level]
            if old >= 0:
                old_offset, old_rank = support[old], rank[old]
            best = -1
            for b in range(low_index[level], high_index[level]):
                if placed[b] or support[b] >= limit[level] or support[b] < old_offset:
                    continue
                if support[b] == old_offset and rank[b] <= old_rank:
                    continue
                if best < 0 or support[b] < support[best] or (support[b] == support[best] and rank[b] < rank[best]):
                    best = b
            work -= high_index[level] - low_index[level]
            jump = best < 0
            if not jump:
                choice[level] = best
                offsets[best] = support[best]
                placed[best] = True
                top = support[best] + size[best]
                rest[begin[best] : end[best]] -= size[best]
                changed, until = begin[best], end[best]
                # The remaining buffers, in groups without a common time; the buffers above this one rise.
                start, reach, count = -1, -1, waiting
                for b in range(low_index[level], high_index[level]):
                    if placed[b]:
                        continue
                    if begin[b] < end[best] and begin[best] < end[b] and support[b] < top:
                        undo_buffer[undone], undo_support[undone] = b, support[b]
                        undone += 1
                        support[b] = top
                        changed, until = min(changed, begin[b]), max(until, end[b])
                    if start >= 0 and begin[b] >= reach:
                        groups[count, 0], groups[count, 1] = start, b
                        count += 1
                        start = -1
                    if start < 0:
                        start = b
                    reach = max(reach, end[b])
                if start >= 0:
                    groups[count, 0], groups[count, 1] = start, high_index[level]
                    count += 1
                for k in range(waiting, count):
                    groups[k, 2], groups[k, 3], groups[k, 4] = support[best], rank[best], level
                changed_from[level], changed_to[level] = changed, until
                waiting = count
                entering = True
                continue
        # This level has failed: backtrack to the choice before it, and further where that did not contribute to the
        # failure.
        while jump:
            back = parent[level]
            if back < 0:
                return IMPOSSIBLE, work
            one = choice[back]
            part = np.uint64(0)
            for w in range(words):
                part |= why[level, w] & touching[one, w]
                why[back, w] |= why[level, w]
            while undone > undo_from[back]:
                undone -= 1
                support[undo_buffer[undone]] = undo_support[undone]
            for lower in range(back, level):
                gone = choice[lower]
                placed[gone] = False
                rest[begin[gone] : end[gone]] += size[gone]
            waiting = groups_from[back]
            level = back
            jump = part == 0
        why[level, choice[level] >> 6] |= np.uint64(1) << np.uint64(choice[level] & 63)
        entering = False
