"""
Steps in queues: their times, and memory over time. A step starts when it is at the head of its queues and the steps
that it needs or waits for are complete; then memory for its results is allocated. A buffer's memory is free when its
last user is complete. Memory has no limit here: control edges keep it low.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..cost_graphs.graph import Ints


@dataclass(frozen=True)
class Step:
    """A step. It refers to earlier steps by their numbers."""

    name: str
    queues: tuple[str, ...]
    ns: int
    needs: tuple[int, ...] = ()
    """Steps whose data it reads."""
    waits: tuple[int, ...] = ()
    """Steps that control edges come from."""


@dataclass(frozen=True)
class Buffer:
    """Memory in use from the start of its producer to the end of its last user."""

    nbytes: int
    maker: int
    users: tuple[int, ...]
    """Numbers of the steps that use it, including the producer."""


@dataclass(frozen=True)
class Program:
    """Steps in the order in which queues are filled."""

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Execution:
    """The times in ns at which the n steps of a program run."""

    program: Program
    start: Ints
    """[n]"""
    end: Ints
    """[n]"""

    @property
    def time_ns(self) -> int:
        """The time at which all steps are complete."""
        return int(self.end.max(initial=0))

    def profile(self) -> tuple[Ints, Ints]:
        """(times, bytes from each of them on). Buffers that end at a time are freed before those that begin then."""
        buffers = [buffer for buffer in self.program.buffers if buffer.nbytes]
        begins = np.array([self.start[buffer.maker] for buffer in buffers], np.int64)
        ends = np.array([max(self.end[user] for user in buffer.users) for buffer in buffers], np.int64)
        size = np.array([buffer.nbytes for buffer in buffers], np.int64)
        times, moment = np.unique(np.concatenate([begins, ends]), return_inverse=True)
        change = np.zeros(len(times), np.int64)
        np.add.at(change, moment, np.concatenate([size, -size]))
        return times, np.cumsum(change)

    def peak(self) -> int:
        """Most bytes at any time."""
        return int(self.profile()[1].max(initial=0))
