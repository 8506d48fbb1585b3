"""
Equal work for lanes that run in step: output channels are put in an order in which neighbours are alike.

Lanes work through a table of channels, `lanes` at a time; each step takes as long as its fullest lane. Sorting puts
channels of like work in one step. Pairing (folding) gives each lane one full and one empty channel of two steps, for
lanes that go on to their next channel without waiting.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .bits import Array, Ints

Method = Literal["sort", "pair"]


def balance(work: Array, lanes: int, method: Method = "sort") -> Ints:
    """
    A permutation of channels: place p holds channel permutation[p], and is worked on by lane p % lanes.

    `work` [channels] is the number of entries of each. `sort` is for lanes that wait for each other after each channel,
    `pair` for lanes that wait at the end only: channels go, fullest first, to the lane with the least work that has a
    place left. The next layer's inputs are to be permuted alike.
    """
    order = np.argsort(-work, kind="stable")
    if method == "sort":
        return order
    return _fullest_first(work, order, lanes)


def _fullest_first(work: Array, order: Ints, lanes: int) -> Ints:
    """Longest processing time first, with as many channels a lane as places."""
    channels = len(work)
    places = [len(range(lane, channels, lanes)) for lane in range(lanes)]
    loads, held = np.zeros(lanes, np.int64), [list[int]() for _ in range(lanes)]
    for channel in order.tolist():
        open_lanes = [lane for lane in range(lanes) if len(held[lane]) < places[lane]]
        lane = min(open_lanes, key=lambda lane: (int(loads[lane]), lane))
        loads[lane] += work[channel]
        held[lane].append(channel)
    return np.array([held[place % lanes][place // lanes] for place in range(channels)], np.int64)


def efficiency(work: Array, lanes: int, method: Method = "sort") -> float:
    """
    Useful lane cycles over all, for channels in this order: with `sort`, lanes wait for each other after each channel;
    with `pair`, only at the end.
    """
    steps = -(-len(work) // lanes)
    table = np.zeros((steps, lanes), np.int64)
    table.reshape(-1)[: len(work)] = work
    cycles = int(table.max(axis=1).sum()) if method == "sort" else int(table.sum(axis=0).max(initial=0))
    return float(work.sum() / (cycles * lanes)) if cycles else 1.0


def balance_panels(work: Array, width: int) -> Ints:
    """
    A permutation of channels for panels of `width` neighbours, whose lanes wait for each other after each panel: in a
    panel are channels of like work, and any even number of neighbouring panels has about the same work.
    """
    order = np.argsort(-work, kind="stable")
    panels = [order[start : start + width] for start in range(0, len(order), width)]
    # The last panel may be smaller: it must stay the last one.
    whole = len(order) // width
    turns = [number // 2 if number % 2 == 0 else whole - 1 - number // 2 for number in range(whole)]
    return np.concatenate([*(panels[turn] for turn in turns), *panels[whole:]]).astype(np.int64)


def panel_work(work: Array, width: int) -> int:
    """The fullest channels of all panels of `width` neighbours, added up: what their lanes take."""
    return int(sum(int(work[start : start + width].max()) for start in range(0, len(work), width)))
