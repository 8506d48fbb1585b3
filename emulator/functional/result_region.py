"""Regions: the parts of memories that have a task's result, with the bytes that the task's instructions wrote."""

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
"""Stands for DRAM where cores are expected."""


@dataclass
class Region:
    """The bytes of a result in one memory, as the task's instructions wrote them."""

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
        """Whether the range from the first to the last byte of an operand at this address overlaps the region."""
        low, high = access.geometry.extent(access.itemsize)
        return address + low < self.start + len(self.content) and address + high > self.start

    def take(self, access: Access, address: int, memory: Bytes, writer: int) -> None:
        """Copy the bytes that an instruction has written, as operand `access` at `address`, from the memory."""
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
    """Unwritten regions for a result, by core; for a result in DRAM, one region at `IN_DRAM`."""
    if place.grid is None:
        return {IN_DRAM: Region.of(place.address, place.nbytes)}
    return {
        core: Region.of(place.address, int(np.prod(tile.sizes)) * place.element_bytes)
        for core, tile in place.tiles().items()
    }
