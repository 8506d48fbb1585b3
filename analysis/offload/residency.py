"""The buffers of a plan's execution, with their lifetimes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..allocation.allocate import Allocation
from ..cost_graphs.graph import Ints
from .evaluate import Evaluator
from .kinds import Kind
from .plan import OffloadPlan
from .simulate import AGAIN, IN, OP, OUT, PACK, UNPACK
from .static_allocation import WORK, compact_allocation

ALIGNMENT = 256
"""Granularity of device allocators, in bytes."""


@dataclass(frozen=True)
class Residency:
    """b buffers, each in memory from `start` to `end` (ns, not included). A restored tensor is a new buffer."""

    tensor: Ints
    """[b]; -1: intermediate results of a recomputation."""
    size: Ints
    """[b] bytes"""
    start: Ints
    """[b]"""
    end: Ints
    """[b]"""

    def profile(self) -> tuple[Ints, Ints]:
        """(times, bytes in memory from each of them on). Buffers that end at a time are freed before others begin."""
        times = np.concatenate([self.start, self.end])
        change = np.concatenate([self.size, -self.size])
        moments, position = np.unique(times, return_inverse=True)
        sums = np.zeros(len(moments), np.int64)
        np.add.at(sums, position, change)
        return moments, np.cumsum(sums)

    @property
    def peak(self) -> int:
        """The largest number of bytes at one time."""
        return int(self.profile()[1].max(initial=0))

    def offsets(self, capacity: int = 0, work: int = WORK) -> Allocation:
        """Offsets such that no two buffers overlap at one time; within the capacity, if such offsets are found."""
        aligned = -(-self.size // ALIGNMENT) * ALIGNMENT
        first, last = self.moments()
        return compact_allocation(aligned, np.array(first, np.int64), np.array(last, np.int64), capacity, work)

    def moments(self) -> tuple[list[int], list[int]]:
        """[b] first and last interval of each buffer; the intervals are those between changes."""
        times = np.unique(np.concatenate([self.start, self.end]))
        return np.searchsorted(times, self.start).tolist(), (np.searchsorted(times, self.end) - 1).tolist()


def residency(evaluator: Evaluator, plan: OffloadPlan) -> Residency:
    """The buffers of an execution, from its log."""
    problem, graph = evaluator.problem, evaluator.problem.graph
    when = {row: _spans(plan.log, row) for row in (OP, OUT, IN, PACK, UNPACK, AGAIN)}
    start, end = np.zeros((2, graph.ops), np.int64)
    for op, (begin, finish) in when[OP].items():
        start[op], end[op] = begin, finish
    buffers: list[tuple[int, int, int, int]] = []
    since = np.where(graph.producer >= 0, start[graph.producer], 0)
    packed, room = evaluator.model.packed(problem.size), evaluator.room_again(plan.kind)
    copied: dict[tuple[int, bool], int] = {}
    for gap, (_, finish) in when[OUT].items():
        copied[int(problem.tensor[gap]), plan.kind[gap] == Kind.COMPRESS_SWAP] = finish
    for gap in np.flatnonzero(plan.kind != Kind.KEEP).tolist():
        tensor, size, small = int(problem.tensor[gap]), int(problem.size[gap]), int(packed[gap])
        gone, kind = int(end[problem.before[gap]]), Kind(int(plan.kind[gap]))
        pack, unpack = when[PACK].get(gap), when[UNPACK].get(gap)
        arrive, again = when[IN].get(gap), when[AGAIN].get(gap)
        if kind is Kind.SWAP and arrive:
            gone, back = max(gone, copied[tensor, False]), arrive[0]
        elif kind is Kind.COMPRESS and pack and unpack:
            buffers.append((tensor, small, pack[0], unpack[1]))
            gone, back = pack[1], unpack[0]
        elif kind is Kind.COMPRESS_SWAP and arrive and unpack:
            if pack:
                buffers.append((tensor, small, pack[0], copied[tensor, True]))
                gone = pack[1]
            buffers.append((tensor, small, arrive[0], unpack[1]))
            back = arrive[0]
        elif kind >= Kind.RECOMPUTE and again:
            if room[gap]:
                buffers.append((-1, int(room[gap]), *again))
            back = again[0]
        else:  # it was kept after all
            continue
        buffers.append((tensor, size, int(since[tensor]), gone))
        since[tensor] = back
    counted = np.flatnonzero(graph.counted & (graph.size > 0))
    final = end[problem.last_use[counted]]
    rows = np.array(buffers, np.int64).reshape(-1, 4)
    tensors = np.concatenate([rows[:, 0], counted])
    sizes = np.concatenate([rows[:, 1], graph.size[counted]])
    starts, ends = np.concatenate([rows[:, 2], since[counted]]), np.concatenate([rows[:, 3], final])
    kept = ends > starts
    return Residency(tensors[kept], sizes[kept], starts[kept], ends[kept])


def _spans(log: Ints, row: int) -> dict[int, tuple[int, int]]:
    """Start and end by number of operation or gap."""
    return {number: (start, end) for _, number, start, end in log[log[:, 0] == row].tolist()}
