"""DRAM allocation of all buffers of the controller's steps, and the waits for memory-reuse dependences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.allocation.allocate import allocate
from ...analysis.cost_graphs.graph import Ints
from ...analysis.offload_steps.in_order import NoRoom, execute_in_order
from ...analysis.offload_steps.steps import Execution, Program
from ..launch.dram_segments import ALIGNMENT, padded
from ..linker.constants import constant_bytes
from .device_steps import CORES, DeviceSteps

ATTEMPTS = 16
"""
Number of limits that are tried between the whole DRAM and the least bytes for the order, because of fragmentation.
"""


@dataclass(frozen=True)
class DeviceLayout:
    """The DRAM allocation, and the steps with their waits."""

    steps: DeviceSteps
    constants: dict[int, int]
    """Addresses of the resident constants, by number."""
    addresses: tuple[int, ...]
    """[buffers]"""
    used: int
    """Bytes up to the end of the highest buffer."""
    planned: Execution
    """Start and end of each step, in cycles."""

    @property
    def profile(self) -> tuple[Ints, Ints]:
        """(cycles, bytes in DRAM from each of them on), including resident constants."""
        times, held = self.planned.profile()
        return times, held + self.constant_bytes

    @property
    def constant_sizes(self) -> dict[int, int]:
        """Bytes of the resident constants, by number."""
        return {number: int(constant_bytes(self.steps.constants[number]).size) for number in self.constants}

    @property
    def constant_bytes(self) -> int:
        """Bytes of the resident constants."""
        return sum(self.constant_sizes.values())

    @property
    def peak(self) -> int:
        """Most bytes in DRAM at any time."""
        return int(self.profile[1].max(initial=self.constant_bytes))


def lay_out(steps: DeviceSteps, capacity: int) -> DeviceLayout | None:
    """
    Allocate the buffers within the capacity such that the steps take as little time as possible; None if no allocation
    is found.
    """
    constants: dict[int, int] = {}
    base = 0
    for number in steps.resident:
        constants[number] = base
        base += padded(constant_bytes(steps.constants[number]).size)
    program = steps.program
    sizes = np.array([padded(buffer.nbytes) for buffer in program.buffers], np.int64)
    room = capacity - base
    least = _least(program, sizes)
    if least > room:
        return None
    for attempt in range(ATTEMPTS):
        limit = room - (room - least) * attempt // max(ATTEMPTS - 1, 1)
        try:
            run = execute_in_order(program, sizes, limit, {CORES})
        except NoRoom:
            return None
        first, last = run.lifetimes()
        # Buffers that are freed at a time make their bytes available to buffers that begin then.
        moments = np.unique(np.concatenate([first, last]))
        begin, end = np.searchsorted(moments, first), np.searchsorted(moments, last) - 1
        placed = allocate(sizes.tolist(), begin.tolist(), np.maximum(end, begin).tolist(), ALIGNMENT, room)
        if placed.peak <= room:
            addresses = tuple(base + int(offset) for offset in placed.offsets)
            order = first.argsort(kind="stable")
            held = with_reuse_waits(program, addresses, sizes, order, first, last)
            return DeviceLayout(replace(steps, program=held), constants, addresses, base + placed.peak, followed(held))
    return None


def _least(program: Program, sizes: Ints) -> int:
    """Lower bound of the bytes for this order: each step completes before the next begins."""
    change = np.zeros(len(program.steps) + 1, np.int64)
    for number, buffer in enumerate(program.buffers):
        change[buffer.maker] += sizes[number]
        change[max(buffer.users) + 1] -= sizes[number]
    return int(np.cumsum(change).max(initial=0))


def with_reuse_waits(
    program: Program, addresses: Sequence[int], sizes: Ints, order: Ints, first: Ints, last: Ints
) -> Program:
    """
    The program in which the step that fills a buffer waits for all users of the buffers that had its bytes before, for
    any durations of steps. `order`: buffers by the time of their allocation.
    """
    at = np.array(addresses, np.int64)
    waits: list[set[int]] = [set[int]() for _ in program.steps]
    taken: list[int] = order.tolist()
    for position, buffer in enumerate(taken):
        before = order[:position]
        over: list[int] = before[
            (at[before] < at[buffer] + sizes[buffer]) & (at[buffer] < at[before] + sizes[before])
        ].tolist()
        waits[program.buffers[buffer].maker].update(user for one in over for user in program.buffers[one].users)
    steps = [
        replace(step, waits=tuple(sorted({*step.waits, *found} - set(step.needs))))
        for step, found in zip(program.steps, waits, strict=True)
    ]
    for number, step in enumerate(steps):
        if any(one >= number for one in step.waits):
            raise AssertionError("a buffer's place is taken before its users have begun")
    return replace(program, steps=tuple(steps))


def ordered_waits(program: Program) -> list[tuple[int, ...]]:
    """
    For each step the minimal set of steps that the controller waits for before it begins it. Queues are in order, so
    the last step of each queue suffices, unless it is known to be complete already.
    """
    done: dict[str, int] = {}
    in_queue: dict[str, int] = {}
    found: list[tuple[int, ...]] = []
    for number, step in enumerate(program.steps):
        latest: dict[str, int] = {}
        for one in (*step.needs, *step.waits):
            queue = program.steps[one].queues[0]
            latest[queue] = max(latest.get(queue, -1), one)
        if step.queues[0] == CORES and CORES in in_queue:
            latest[CORES] = in_queue[CORES]
        waits = tuple(sorted(one for queue, one in latest.items() if one > done.get(queue, -1)))
        done |= {program.steps[one].queues[0]: one for one in waits}
        in_queue[step.queues[0]] = number
        found.append(waits)
    return found


def followed(program: Program) -> Execution:
    """Start and end of the steps if the controller follows `ordered_waits`."""
    start, end = np.zeros((2, len(program.steps)), np.int64)
    free: dict[str, int] = {}
    now = 0
    for number, (step, waits) in enumerate(zip(program.steps, ordered_waits(program), strict=True)):
        now = max([now, *(int(end[one]) for one in waits)])
        queue = step.queues[0]
        start[number] = max(now, free.get(queue, 0))
        end[number] = free[queue] = start[number] + step.ns
    return Execution(program, start, end)
