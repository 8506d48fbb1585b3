"""Execution of steps by a controller that starts them in order and waits until the memory for each is free."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..cost_graphs.graph import Ints
from .steps import Execution, Program


class NoRoom(Exception):
    """The results of a step do not fit although all steps before it are complete."""

    def __init__(self, step: int, needed: int) -> None:
        super().__init__(f"step {step} needs {needed} bytes at once")
        self.step, self.needed = step, needed


@dataclass(frozen=True)
class InOrder:
    """An execution, and the time at which the controller reaches each step: its memory is allocated from then on."""

    execution: Execution
    issued: Ints
    """[n]"""

    def lifetimes(self) -> tuple[Ints, Ints]:
        """([b], [b]) the times at which each buffer is allocated, and at which it is free again."""
        buffers = self.execution.program.buffers
        first = np.array([self.issued[buffer.maker] for buffer in buffers], np.int64)
        last = np.array([max(self.execution.end[user] for user in buffer.users) for buffer in buffers], np.int64)
        return first, last


def execute_in_order(program: Program, sizes: Ints, limit: int, joined: Collection[str]) -> InOrder:
    """
    Every step starts as early as possible in the order of the program: after the start of the step before it, when the
    steps that it needs or waits for are complete, and its results fit in the free memory. `sizes`: [b] bytes of the
    buffers. For the queues in `joined`, the controller also waits until the step before in the queue is complete.
    Raises NoRoom.
    """
    count = len(program.steps)
    start, end, issued, taken = np.zeros((4, count), np.int64)
    left = [len(buffer.users) for buffer in program.buffers]
    used_by: list[list[int]] = [[] for _ in range(count)]
    for number, buffer in enumerate(program.buffers):
        taken[buffer.maker] += sizes[number]
        for user in buffer.users:
            used_by[user].append(number)
    gone = np.zeros(len(program.buffers), np.int64)
    leaving: list[tuple[int, int]] = []
    free_at: dict[str, int] = {}
    now = held = 0
    for number, step in enumerate(program.steps):
        now = max([now, *(int(end[one]) for one in (*step.needs, *step.waits))])
        now = max([now, *(free_at.get(queue, 0) for queue in step.queues if queue in joined)])
        while leaving and (leaving[0][0] <= now or held + taken[number] > limit):
            moment, size = heapq.heappop(leaving)
            now, held = max(now, moment), held - size
        if held + taken[number] > limit:
            raise NoRoom(number, held + int(taken[number]))
        held += int(taken[number])
        issued[number] = now
        start[number] = max([now, *(free_at.get(queue, 0) for queue in step.queues)])
        end[number] = start[number] + step.ns
        for queue in step.queues:
            free_at[queue] = int(end[number])
        for buffer in used_by[number]:
            gone[buffer] = max(gone[buffer], end[number])
            left[buffer] -= 1
            if not left[buffer]:
                heapq.heappush(leaving, (int(gone[buffer]), int(sizes[buffer])))
    return InOrder(Execution(program, start, end), issued)
