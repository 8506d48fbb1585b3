"""
Allocation of semaphores to the exchanges of a program, such that the counts of different exchanges are not confused.
"""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from ...chips import Chip
from ...support.errors import MeshloomError

BARRIER_SEMAPHORES = 2

Pair: TypeAlias = tuple[int, int]
"""Semaphores for credits and for data."""


class SemaphorePool:
    """
    Pairs of semaphores for exchanges.

    A core that does not take part in an exchange may run ahead of those that do. Its credit for a later exchange with
    the same semaphore could be counted by a core that still waits for an earlier exchange. So a pair that has been
    released can be taken again only after a barrier of all cores.
    """

    def __init__(self, chip: Chip) -> None:
        pairs = (chip.semaphores - BARRIER_SEMAPHORES) // 2
        self._chip = chip
        self._free: deque[Pair] = deque(
            (BARRIER_SEMAPHORES + 2 * number, BARRIER_SEMAPHORES + 2 * number + 1) for number in range(pairs)
        )
        self._released: list[Pair] = []
        self._barriers = 0

    @property
    def needs_barrier(self) -> bool:
        """Whether all free pairs need a barrier first."""
        return not self._free

    @property
    def has_released(self) -> bool:
        """Whether there are pairs that can be taken only after a barrier."""
        return bool(self._released)

    def take(self) -> Pair:
        """A free pair. Raises MeshloomError if all are in use at once."""
        if not self._free:
            raise MeshloomError(
                f"the program needs more than the {self._chip.semaphores} semaphores per core of chip "
                f"'{self._chip.name}': raise 'semaphores'"
            )
        return self._free.popleft()

    def release(self, pair: Pair) -> None:
        """Release a pair, of which all uses have been emitted."""
        self._released.append(pair)

    def barrier(self) -> int:
        """The semaphore of the next barrier; two alternate, as a core may enter one while another leaves the last."""
        self._free.extend(self._released)
        self._released.clear()
        self._barriers += 1
        return self._barriers % BARRIER_SEMAPHORES
