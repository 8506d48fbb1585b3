"""Where a task's result stands in a memory, and what the task's instructions wrote there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..executable.task_results import TaskResult
from ..machine.memory import Bytes
from .semantics.base import Access

NOBODY = -1
"""Writer of an unwritten byte."""
IN_DRAM = -1
"""In the place of a core: DRAM."""


@dataclass
class Region:
    """The bytes of a result, in one memory, as the task's instructions wrote them."""

    start: int
    content: Bytes
    writer: NDArray[np.int64]
    """[bytes] core << 32 | word of the instruction that wrote a byte last, or `NOBODY`."""

    @staticmethod
    def of(start: int, nbytes: int) -> Region:
        """An unwritten region."""
        return Region(start, np.zeros(nbytes, np.uint8), np.full(nbytes, NOBODY, np.int64))

    def copy(self) -> Region:
        """A region with the same contents."""
        return Region(self.start, self.content.copy(), self.writer.copy())

    def reached(self, access: Access, address: int) -> bool:
        """Whether an operand at this address touches the region, as far as its first and last byte tell."""
        low, high = access.geometry.extent(access.itemsize)
        return address + low < self.start + len(self.content) and address + high > self.start

    def take(self, access: Access, address: int, memory: Bytes, writer: int) -> None:
        """Copy what an instruction has written at an address of the memory."""
        shape = (*access.geometry.shape, access.itemsize)
        strides = (*access.geometry.strides, 1)
        low, high = access.geometry.extent(access.itemsize)
        at = address - self.start
        if at + low >= 0 and at + high <= len(self.content):
            source = np.ndarray(shape, np.uint8, memory, address, strides)
            np.ndarray(shape, np.uint8, self.content, at, strides)[...] = source
            wide = tuple(8 * stride for stride in strides)
            np.ndarray(shape, np.int64, self.writer, 8 * at, wide)[...] = writer
            return
        places = np.zeros((), np.int64)
        for size, stride in zip(shape, strides, strict=True):
            places = places[..., None] + np.arange(size) * stride
        places = places.reshape(-1) + at
        places = places[(places >= 0) & (places < len(self.content))]
        self.content[places] = memory[places + self.start]
        self.writer[places] = writer


def regions_of(place: TaskResult) -> dict[int, Region]:
    """The regions of a result, unwritten, by core; of a result in DRAM the only one, at `IN_DRAM`."""
    if place.grid is None:
        return {IN_DRAM: Region.of(place.address, place.nbytes)}
    return {
        core: Region.of(place.address, int(np.prod(tile.sizes)) * place.element_bytes)
        for core, tile in place.tiles().items()
    }
