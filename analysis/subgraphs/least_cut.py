"""Cuts that the fewest bytes cross, by dynamic programming over the serial order (spec 2, beyond the patent)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .op_graph import Ints, OpGraph, Segment, live_bytes


@dataclass(frozen=True)
class PartBounds:
    """Upper bounds of a part; a part of one operator is not bounded."""

    weight_bytes: int | None = None
    macs: int | None = None
    nodes: int | None = None
    live_bytes: int | None = None
    """Bytes of the results of the part's operators, all together."""

    def earliest_starts(self, graph: OpGraph, nodes: Ints) -> Ints:
        """For each number of leading nodes the smallest start of a part that ends there and keeps the bounds."""
        count = len(nodes)
        starts = np.zeros(count + 1, np.int64)
        amounts = (
            (self.weight_bytes, graph.weight_bytes[nodes]),
            (self.macs, graph.macs[nodes]),
            (self.nodes, np.ones(count, np.int64)),
            (self.live_bytes, graph.result_bytes[nodes]),
        )
        for bound, amount in amounts:
            if bound is not None:
                total = np.concatenate(([0], np.cumsum(amount)))
                np.maximum(starts, np.searchsorted(total, total - bound, side="left"), out=starts)
        # One operator is always allowed.
        return np.minimum(starts, np.maximum(np.arange(count + 1) - 1, 0))


@dataclass(frozen=True)
class AtFewestBytes:
    """
    The cuts with the fewest live bytes, with `bounds` on each part; among equal ones the fewest cuts.

    `parts`: the exact number of parts (or that of the operators, if it is smaller), each with at least `least_share` of
    its even share of the work (operations and bytes), so that parts at the ends do not become tiny. Without `parts`: as
    many parts as the bounds require.
    """

    parts: int | None = None
    bounds: PartBounds = PartBounds()
    least_share: float = 0.5

    def __call__(self, graph: OpGraph, segment: Segment) -> list[int]:
        count = len(segment)
        crossing = live_bytes(graph, segment.order)[segment.start : segment.stop + 1].astype(np.float64)
        first = self.bounds.earliest_starts(graph, segment.nodes)
        if self.parts is None:
            cuts = fewest_bytes(crossing, first)
        else:
            parts = min(self.parts, count)
            cuts = fewest_bytes_in(parts, crossing, first, self._latest_starts(graph, segment, parts))
            if cuts is None:  # the bounds and the shares cannot both be met
                cuts = fewest_bytes_in(parts, crossing, first, np.arange(count + 1) - 1)
            if cuts is None:  # the bounds require more parts
                cuts = fewest_bytes(crossing, first)
        return [segment.start + cut for cut in cuts]

    def _latest_starts(self, graph: OpGraph, segment: Segment, parts: int) -> Ints:
        """For each end the largest start of a part that has its least share of the work."""
        nodes = segment.nodes
        shares = np.zeros(len(nodes))
        for amount in (
            graph.macs[nodes] + graph.other_ops[nodes],
            graph.weight_bytes[nodes] + graph.result_bytes[nodes],
        ):
            shares += amount / max(1, int(amount.sum()))
        if not shares.any():
            shares += 1.0
        total = np.concatenate(([0.0], np.cumsum(shares)))
        wanted = total - self.least_share * float(total[-1]) / max(parts, 1)
        # The tolerance keeps sums of equal shares from missing their goal by rounding.
        tolerance = 1e-9 * float(total[-1])
        latest = np.asarray(np.searchsorted(total, wanted + tolerance, side="right"), np.int64) - 1
        return np.minimum(latest, np.arange(len(total)) - 1)


def fewest_bytes(crossing: NDArray[np.float64], first: Ints) -> list[int]:
    """Cuts of 0 to n with the least sum of `crossing`; a part that ends at e starts at `first[e]` or later."""
    count = len(crossing) - 1
    best = np.zeros(count + 1)
    part_counts = np.zeros(count + 1, np.int64)
    before = np.zeros(count + 1, np.int64)
    for end in range(1, count + 1):
        starts = np.arange(int(first[end]), end)
        cost = best[starts] + np.where(starts > 0, crossing[starts], 0)
        choice = int(starts[np.lexsort((part_counts[starts], cost))[0]])
        best[end] = cost[choice - int(first[end])]
        part_counts[end] = part_counts[choice] + 1
        before[end] = choice
    return _trace(before, count)


def fewest_bytes_in(parts: int, crossing: NDArray[np.float64], first: Ints, last: Ints) -> list[int] | None:
    """
    As `fewest_bytes`, for exactly `parts` parts; a part that ends at e also starts at `last[e]` or earlier. None if
    this is impossible.
    """
    count = len(crossing) - 1
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    rows: list[Ints] = []
    toll = crossing.copy()
    toll[0] = 0.0
    for _ in range(parts):
        after = np.full(count + 1, np.inf)
        before = np.zeros(count + 1, np.int64)
        reach = best + toll
        for end in range(1, count + 1):
            low, high = int(first[end]), int(last[end]) + 1
            if low < high:
                choice = low + int(np.argmin(reach[low:high]))
                after[end], before[end] = reach[choice], choice
        rows.append(before)
        best = after
    if not np.isfinite(best[count]):
        return None
    cuts: list[int] = []
    end = count
    for before in reversed(rows):
        end = int(before[end])
        cuts.append(end)
    return sorted(cuts)[1:]


def _trace(before: Ints, count: int) -> list[int]:
    cuts: list[int] = []
    end = int(before[count])
    while end > 0:
        cuts.append(end)
        end = int(before[end])
    return cuts[::-1]
