"""
Control edges that keep a program below a limit whatever its steps really take.

Of a step it is known what is complete when it starts: what stands before it in its queues, what it needs and waits
for, and what was known to those. If all steps up to it in the program's order had their memory, and only what is known
to be free were free, it has to fit; where it does not, it waits for more. Then at any time, with any durations, the
steps that have begun fit: the last one of them in the order has seen to that. An edge is left out again where earlier
steps wait for the same: either it is complete, or these have not begun.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...support.errors import MeshloomError
from ..cost_graphs.graph import Flat, Ints
from .steps import Execution, Program


class _Known:
    """[n + 1 rows, queues] how many steps of each queue are complete when a step starts, and when it ends."""

    def __init__(self, program: Program) -> None:
        names = sorted({queue for step in program.steps for queue in step.queues})
        self.queues = [[names.index(queue) for queue in step.queues] for step in program.steps]
        self.place: list[list[int]] = []
        filled = [0] * len(names)
        self.last: list[int] = [-1] * len(names)
        for queues in self.queues:
            for queue in queues:
                filled[queue] += 1
            self.place.append([filled[queue] for queue in queues])
        self.at_end = np.zeros((len(program.steps), len(names)), np.int64)

    def at_start(self, step: int, before: list[int]) -> Ints:
        """What is complete when a step starts that comes after `before` and what its queues hold."""
        known = np.zeros(self.at_end.shape[1], np.int64)
        for other in (*before, *(self.last[queue] for queue in self.queues[step])):
            if other >= 0:
                np.maximum(known, self.at_end[other], out=known)
        return known

    def finish(self, step: int, known: Ints) -> None:
        """The step is in its queues; `known` holds at its start."""
        self.at_end[step] = known
        for queue, place in zip(self.queues[step], self.place[step], strict=True):
            self.at_end[step, queue] = max(self.at_end[step, queue], place)
            self.last[queue] = step

    def holds(self, step: int, known: Ints) -> bool:
        """Whether a step is known to be complete."""
        return bool(known[self.queues[step][0]] >= self.place[step][0])

    def after(self, step: int) -> Flat:
        """[steps] bool: whether each is known to begin after this one is complete (itself included)."""
        return self.at_end[:, self.queues[step][0]] >= self.place[step][0]


def with_memory_edges(planned: Execution, limit: int) -> Program:
    """
    The program with the waits that keep the device's memory within the limit in bytes, and without any that follow from
    others.

    `planned` is an execution within the limit that it is to follow: steps wait for those that are complete by then.
    Raises MeshloomError where the order alone breaks the limit.
    """
    program = planned.program
    known = _Known(program)
    sizes, frees, queues = _freed_when(program, known)
    taken = np.zeros(len(program.steps), np.int64)
    for buffer in program.buffers:
        if buffer.place == "device":
            taken[buffer.maker] += buffer.nbytes
    total = np.cumsum(taken)
    by_end = np.argsort(planned.end, kind="stable")
    ends = planned.end[by_end]
    steps = list(program.steps)

    def free(state: Flat) -> int:
        return int(sizes[(frees <= state[queues]).all(axis=1)].sum()) if len(sizes) else 0

    for number, step in enumerate(program.steps):
        before = [*step.needs, *step.waits]
        state = known.at_start(number, before)
        excess = int(total[number]) - limit
        if taken[number] and free(state) < excess:
            done = by_end[: np.searchsorted(ends, planned.start[number], side="right")]
            more = _least(known, state, [int(one) for one in done if one < number], excess, free)
            if more is None:
                more = _least(known, state, list(range(number)), excess, free)
            if more is None:
                raise MeshloomError(f"step {step.name} cannot fit within {limit} bytes in this order")
            for wait in more:
                # Until it is complete, earlier steps that wait for it have not begun, and what they take is free.
                rest = [*before, *(one for one in more if one != wait)]
                waiting = taken[known.after(wait)].sum() - taken[wait]
                if free(known.at_start(number, rest)) >= excess - waiting:
                    more = [one for one in more if one != wait]
            before += more
            state = known.at_start(number, before)
        steps[number] = replace(step, waits=_needed(known, number, list(step.needs), before[len(step.needs) :]))
        known.finish(number, state)
    return replace(program, steps=tuple(steps))


def _needed(known: _Known, number: int, needs: list[int], waits: list[int]) -> tuple[int, ...]:
    """The waits that do not follow from the others, from data and from queues."""
    kept = sorted(set(waits))
    for wait in list(kept):
        rest = [other for other in kept if other != wait]
        if known.holds(wait, known.at_start(number, [*needs, *rest])):
            kept = rest
    return tuple(kept)


def _freed_when(program: Program, known: _Known) -> tuple[Ints, Ints, Ints]:
    """(sizes, places, queues): a buffer [b] is free when each of the queues [b, users] has come to its place."""
    buffers = [buffer for buffer in program.buffers if buffer.place == "device" and buffer.nbytes]
    width = max((len(buffer.users) for buffer in buffers), default=0)
    places, queues = np.zeros((2, len(buffers), width), np.int64)
    for row, buffer in enumerate(buffers):
        for column, user in enumerate(buffer.users):
            places[row, column], queues[row, column] = known.place[user][0], known.queues[user][0]
    return np.array([buffer.nbytes for buffer in buffers], np.int64), places, queues


def _least(known: _Known, state: Ints, done: list[int], excess: int, free: Callable[[Flat], int]) -> list[int] | None:
    """Few steps of `done`, the earliest that suffice, after which so many bytes are free; None where all do not."""
    new = [step for step in done if not known.holds(step, state)]

    def after(steps: list[int]) -> Ints:
        return np.maximum(state, known.at_end[steps].max(axis=0)) if steps else state

    if free(after(new)) < excess:
        return None
    low, high = 0, len(new)
    while low < high:
        middle = (low + high) // 2
        if free(after(new[:middle])) >= excess:
            high = middle
        else:
            low = middle + 1
    chosen = new[:low]
    for step in list(reversed(chosen)):
        rest = [one for one in chosen if one != step]
        if free(after(rest)) >= excess:
            chosen = rest
    return sorted(chosen)
