"""Typed strided views of memory, the operands of instruction selection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Literal, NamedTuple, TypeAlias

from ...dialects.coreasm.encoding import TYPES
from ...formats.sparse.block import Block
from ...support.errors import MeshloomError

Space: TypeAlias = Literal["sram", "dram"]

ITEM_BYTES = tuple(type.bytes for type in TYPES)
"""Bytes of an element by type code."""


@lru_cache(1 << 12)
def dense_strides(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Byte strides of a row-major array without gaps."""
    strides: list[int] = []
    step = item_bytes
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class View(NamedTuple):
    """A tensor in memory: element i is at byte `address` + sum of i[d] * `strides[d]`."""

    space: Space
    address: int
    """Address of element (0, ..., 0), in bytes."""
    dtype: int
    """Type code of the instruction set."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Strides in bytes; 0 repeats an element, negative strides run backwards."""

    @classmethod
    def dense(cls, space: Space, address: int, dtype: int, shape: Sequence[int]) -> View:
        """A row-major view without gaps."""
        sizes = tuple(shape)
        return cls(space, address, dtype, sizes, dense_strides(sizes, ITEM_BYTES[dtype]))

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return ITEM_BYTES[self.dtype]

    @property
    def volume(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements; repeated elements are counted repeatedly, gaps are not counted."""
        return self.volume * self.item_bytes

    @property
    def extent(self) -> tuple[int, int]:
        """First byte of the view, and one past its last byte; (address, address) for an empty view."""
        low = high = self.address
        if 0 in self.shape:
            return low, high
        for size, stride in zip(self.shape, self.strides, strict=True):
            if stride < 0:
                low += (size - 1) * stride
            else:
                high += (size - 1) * stride
        return low, high + self.item_bytes

    def box(self, offsets: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None) -> View:
        """`sizes` elements from `offsets` on, every `steps`-th (1 if absent, negative: descending)."""
        strides = self.strides
        if steps is not None:
            strides = tuple(step * stride for step, stride in zip(steps, strides, strict=True))
        address = self.address + sum(map(mul, offsets, self.strides))
        return View(self.space, address, self.dtype, tuple(sizes), strides)

    def part(self, dim: int, offset: int, size: int) -> View:
        """`size` elements from `offset` on along one dimension, all of the others."""
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        return View(self.space, self.address + offset * self.strides[dim], self.dtype, shape, self.strides)

    def drop(self, dims: Sequence[int]) -> View:
        """The view without the dimensions `dims`, at index 0 of each."""
        kept = [dim for dim in range(len(self.shape)) if dim not in dims]
        return self.permute(kept)

    def permute(self, perm: Sequence[int]) -> View:
        """Dimension d of the result is dimension `perm[d]`; dimensions that `perm` lacks are fixed at index 0."""
        shape = tuple(self.shape[dim] for dim in perm)
        return View(self.space, self.address, self.dtype, shape, tuple(self.strides[dim] for dim in perm))

    def reverse(self, dim: int) -> View:
        """The same elements in reverse order along `dim`."""
        offsets, steps = [0] * len(self.shape), [1] * len(self.shape)
        offsets[dim], steps[dim] = self.shape[dim] - 1, -1
        return self.box(offsets, self.shape, steps)

    def walk(self, shape: Sequence[int], strides: Sequence[int]) -> View:
        """A view with other sizes and byte strides from the same first element (windows, splits of dimensions)."""
        return View(self.space, self.address, self.dtype, tuple(shape), tuple(strides))

    def broadcast_to(self, shape: Sequence[int]) -> View:
        """The view broadcast to `shape` by numpy's rules (dimensions aligned at the last one, sizes equal or 1).

        Raises MeshloomError if the shapes are not compatible.
        """
        target = tuple(shape)
        if target == self.shape:
            return self
        lead = len(target) - len(self.shape)
        strides = [0] * len(target)
        for dim, (size, stride) in enumerate(zip(self.shape, self.strides, strict=True), lead):
            if dim < 0 or size not in (1, target[dim]):
                if dim < 0 and size == 1:
                    continue
                raise MeshloomError(f"a view of shape {self.shape} cannot be broadcast to {target}")
            strides[dim] = 0 if size == 1 and target[dim] != 1 else stride
        return View(self.space, self.address, self.dtype, target, tuple(strides))


@dataclass(frozen=True, slots=True)
class EncodedView:
    """A block of encoded weights in memory, and the mode of products with it."""

    view: View
    """Its bytes."""
    block: Block
    """Their format."""
    skip_zeros: bool
    """Whether pairs whose activation is zero are skipped, too."""
    expected_cycles: int
    """Expected cycles of a product, for timing without values."""
