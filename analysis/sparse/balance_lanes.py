"""
Load balance of lanes in lockstep: output channels are permuted so that neighbours have similar work. Lanes process a
table of channels, `lanes` at a time; each step takes as long as its fullest lane. Sorting puts channels of similar work
in one step. Pairing (folding) gives each lane one full and one empty channel of two steps, for lanes that continue with
their next channel without waiting.
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from ...formats.sparse.bits import Array, Ints

Method = Literal["sort", "pair"]


def balance(work: Array, lanes: int, method: Method = "sort") -> Ints:
    """
    A permutation of channels: place p holds channel permutation[p], and is computed by lane p % lanes.

    `work` [channels] is the number of entries of each. `sort` is for lanes that wait for each other after each channel,
    `pair` for lanes that wait at the end only: channels are assigned, fullest first, to the lane with the least work
    that has a free place. The inputs of the next layer must be permuted in the same way.
    """
    order = np.argsort(-work, kind="stable")
    if method == "sort":
        return order
    return _fullest_first(work, order, lanes)


def _fullest_first(work: Array, order: Ints, lanes: int) -> Ints:
    """Longest processing time first, with as many channels per lane as places."""
    channels = len(work)
    positions = [len(range(lane, channels, lanes)) for lane in range(lanes)]
    loads, held = np.zeros(lanes, np.int64), [list[int]() for _ in range(lanes)]
    for channel in order.tolist():
        open_lanes = [lane for lane in range(lanes) if len(held[lane]) < positions[lane]]
        lane = min(open_lanes, key=lambda lane: (int(loads[lane]), lane))
        loads[lane] += work[channel]
        held[lane].append(channel)
    return np.array([held[position % lanes][position // lanes] for position in range(channels)], np.int64)


def balance_panels(work: Array, width: int, lanes: int) -> Ints:
    """
    A permutation of channels for panels of `width` neighbours: in a panel, the channel at place p is computed by lane p
    % lanes, and lanes wait for each other at the end of the panel. All lanes of all panels get about the same work, and
    so do panels. Channels are assigned, those of most work first, to the lane with the least work that has a free
    place; among lanes of equal work, to one with few places.
    """
    channels = len(work)
    starts = range(0, channels, width)
    open_lanes: list[tuple[float, int, int]] = []
    positions: list[list[int]] = []
    for start in starts:
        size = min(width, channels - start)
        for lane in range(min(lanes, size)):
            own = list(range(start + lane, start + size, lanes))
            open_lanes.append((0, len(own), len(positions)))
            positions.append(own)
    heapq.heapify(open_lanes)
    order = np.zeros(channels, np.int64)
    taken = [0] * len(positions)
    for channel in np.argsort(-work, kind="stable").tolist():
        load, size, number = heapq.heappop(open_lanes)
        order[positions[number][taken[number]]] = channel
        taken[number] += 1
        if taken[number] < len(positions[number]):
            heapq.heappush(open_lanes, (load + float(work[channel]), size, number))
    return order


def even_panels(work: Array, width: int, lanes: int) -> Ints:
    """
    As `balance_panels`, but panels get about the same number of entries first, then lanes in each. Full channels are in
    different panels, so that lanes wait more; in return the sizes of panels are similar, which saves padding, as each
    is padded to the largest.
    """
    starts = range(0, len(work), width)
    members = [list[int]() for _ in starts]
    sizes = [min(width, len(work) - start) for start in starts]
    emptiest = [(0.0, number) for number in range(len(members))]
    for channel in np.argsort(-work, kind="stable").tolist():
        load, number = heapq.heappop(emptiest)
        members[number].append(channel)
        if len(members[number]) < sizes[number]:
            heapq.heappush(emptiest, (load + float(work[channel]), number))
    panels = [np.array(own, np.int64) for own in members]
    return np.concatenate([own[balance_panels(work[own], width, lanes)] for own in panels])


def panel_work(work: Array, width: int, lanes: int) -> float:
    """
    The sum over all panels of `width` neighbours of the work of the fullest lane, which is the time of the panels.
    """
    total = 0.0
    for start in range(0, len(work), width):
        part = work[start : start + width]
        total += max(float(part[lane::lanes].sum()) for lane in range(min(lanes, len(part))))
    return total
