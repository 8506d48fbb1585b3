"""How much SRAM a task may take, and for how much more or less of it the task would be planned alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Room:
    """Bytes of SRAM on each core; it notes what is asked of it."""

    available: int
    largest_fitting: int = 0
    """Of the numbers of bytes asked about."""
    least_exceeding: float = float("inf")

    def fits(self, nbytes: int) -> bool:
        """Whether there is room for so many bytes."""
        fitting = nbytes <= self.available
        if fitting:
            self.largest_fitting = max(self.largest_fitting, nbytes)
        else:
            self.least_exceeding = min(self.least_exceeding, nbytes)
        return fitting

    def answers_alike(self, available: int) -> bool:
        """Whether all that was asked has the same answer where so many bytes are available."""
        return self.largest_fitting <= available < self.least_exceeding


@dataclass
class ByRoom(Generic[T]):
    """What has been worked out beside other values in SRAM, to be had again where as much room as matters is left."""

    _found: dict[Hashable, list[tuple[Room, T]]] = field(default_factory=dict[Hashable, "list[tuple[Room, T]]"])

    def get(self, key: Hashable, available: int, make: Callable[[Room], T]) -> T:
        """What `make` gives for a room of so many bytes; `key` is all else that it depends on."""
        known = self._found.setdefault(key, [])
        for room, result in known:
            if room.answers_alike(available):
                return result
        room = Room(available)
        result = make(room)
        known.append((room, result))
        return result
