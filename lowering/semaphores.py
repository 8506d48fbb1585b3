"""Hand out semaphores to the exchanges of a program so that no count can be taken for another's."""

from __future__ import annotations

from ..chips import Chip
from ..support.errors import MeshloomError

BARRIER_SEMAPHORES = 2


class SemaphorePool:
    """
    Pairs of semaphores (credits, data) for exchanges, in rotation.

    A core that takes no part in an exchange may run ahead of those that do, and its credit for a later exchange on the
    same semaphore could be counted by a core that still waits for an earlier one. So a barrier of all cores must stand
    between two uses: after every half rotation. `needs_barrier` tells when.
    """

    def __init__(self, chip: Chip) -> None:
        self._pairs = (chip.semaphores - BARRIER_SEMAPHORES) // 2
        if self._pairs < 2:
            raise MeshloomError(
                f"chip '{chip.name}' has {chip.semaphores} semaphores per core, at least {BARRIER_SEMAPHORES + 4} are "
                f"needed: raise 'semaphores'"
            )
        self._next = 0
        self._since_barrier = 0
        self._barriers = 0

    @property
    def needs_barrier(self) -> bool:
        """Whether a barrier must come before the next pair."""
        return self._since_barrier >= self._pairs // 2

    def pair(self) -> tuple[int, int]:
        """Semaphores for the credits and the data of the next exchange."""
        number = self._next
        self._next = (self._next + 1) % self._pairs
        self._since_barrier += 1
        return BARRIER_SEMAPHORES + 2 * number, BARRIER_SEMAPHORES + 2 * number + 1

    def barrier(self) -> int:
        """The semaphore of the next barrier; two alternate, as a core may enter one while another leaves the last."""
        self._since_barrier = 0
        self._barriers += 1
        return self._barriers % BARRIER_SEMAPHORES
