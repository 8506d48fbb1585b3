"""The number of parts of an operator such that the data of each fits (spec 3, step 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from ...dialects.dataflow.tiling import Box, DimKind, TilingInterface
from ...dialects.dataflow.types import element_bytes, element_of, shape_of
from ...support.errors import ResourceError

Parts = tuple[int, ...]
"""Parts per dimension of an iteration space."""


def data_bytes(op: TilingInterface, sizes: Sequence[int]) -> int:
    """
    Largest number of bytes of inputs, parameters and outputs of a tile of these sizes, at any position; a value that is
    read twice counts once. For a table that is read by index only the selected rows count, because the rest stays in
    DRAM.
    """
    tile = Box((0,) * len(sizes), tuple(sizes))
    result = op.result_box(tile).volume
    held: dict[SSAValue, int] = {}
    for index, value in enumerate(op.operands):
        elements = math.prod(map(min, op.largest_slice(index, tile), shape_of(value)))
        if op.operand_slice(index, tile).indexed:
            elements = min(elements, result)
        held[value] = max(held.get(value, 0), elements * element_bytes(element_of(value)))
    return result * element_bytes(element_of(op.results[0])) + sum(held.values())


def split_dims(op: TilingInterface) -> tuple[int, ...]:
    """
    The dimensions that an operator may be split in, best first: the interface's preference, reductions last (only those
    of contractions are in it; no other operator is ever split where it reduces).
    """
    space = op.iteration_space()
    dims = [dim for dim in op.preferred_dims() if space[dim].size > 1]
    fixed = (DimKind.WHOLE, DimKind.SEQUENTIAL)
    dims = [dim for dim in dims if space[dim].kind not in fixed]
    dims = [dim for dim in dims if space[dim].kind is not DimKind.REDUCTION or op.combine is not None]
    return tuple(sorted(dims, key=lambda dim: space[dim].kind is DimKind.REDUCTION))


def choose_parts(op: TilingInterface, limit: int, name: str) -> Parts:
    """
    Parts per dimension such that each part's data have at most `limit` bytes; all 1 if the whole operator fits.
    Dimensions are added in the order of preference until splitting them is sufficient; a later one is not split if the
    earlier ones are sufficient. Among the remaining possibilities, one with the fewest parts is taken. Raises
    ResourceError, naming the operator, if not even the smallest part fits.
    """
    return _Search(op, limit, name).parts()


@dataclass(frozen=True, eq=False)
class _Search:
    op: TilingInterface
    limit: int
    name: str

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(dim.size for dim in self.op.iteration_space())

    def fits(self, parts: Sequence[int]) -> bool:
        """Whether the largest part fits."""
        return self.needed(parts) <= self.limit

    def needed(self, parts: Sequence[int]) -> int:
        """Bytes of the largest part."""
        return data_bytes(self.op, [-(-size // count) for size, count in zip(self.sizes, parts, strict=True)])

    def parts(self) -> Parts:
        whole: Parts = (1,) * len(self.sizes)
        if 0 in self.sizes or self.fits(whole):
            return whole
        finest: list[int] = list(whole)
        active: list[int] = []
        for dim in split_dims(self.op):
            active.append(dim)
            finest[dim] = self.sizes[dim]
            if self.fits(finest):
                return self._fewest(active, tuple(finest))
        needed = self.needed(finest)
        raise ResourceError(
            f"operator '{self.name}' ({self.op.name}) does not fit: its smallest part needs {needed} bytes for inputs, "
            f"parameters and results, {self.limit} are available",
            "memory for an operator's data",
            needed,
            self.limit,
        )

    def _options(self, dim: int) -> list[int]:
        """Numbers of parts worth trying, ascending: one for each size of the largest part."""
        size = self.sizes[dim]
        counts = {-(-size // -(-size // count)) for count in range(1, math.isqrt(size) + 1)}
        counts |= {-(-size // extent) for extent in range(1, math.isqrt(size) + 2)}
        return sorted(count for count in counts if count in (1, size) or self.op.may_split(dim, count))

    def _fewest(self, active: Sequence[int], finest: Parts) -> Parts:
        """The fewest parts in these dimensions; among equal numbers, the most in the preferred dimensions."""
        options = {dim: self._options(dim) for dim in active}
        best = finest
        for dim in reversed(active):
            best = self._coarsest(best, dim, options[dim])
        order = list(active)

        def key(parts: Parts) -> tuple[int, list[int]]:
            return math.prod(parts), [-parts[dim] for dim in order]

        def extend(position: int, parts: Parts) -> None:
            nonlocal best
            dim = order[position]
            if position == len(order) - 1:
                found = self._coarsest(parts, dim, options[dim])
                best = min(best, found, key=key)
                return
            for count in options[dim]:
                chosen = _with(parts, dim, count)
                coarse = math.prod(chosen[done] for done in order[: position + 1])
                if coarse > math.prod(best):
                    return
                if self.fits(chosen):
                    extend(position + 1, chosen)

        extend(0, finest)
        return best

    def _coarsest(self, parts: Parts, dim: int, options: Sequence[int]) -> Parts:
        """The fewest parts in one dimension with which the parts still fit."""
        low = _first(lambda index: self.fits(_with(parts, dim, options[index])), len(options))
        return _with(parts, dim, options[low])


def _first(holds: Callable[[int], bool], count: int) -> int:
    """The first index for which a monotone condition holds, which holds from some index up to the last."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _with(parts: Parts, dim: int, count: int) -> Parts:
    return (*parts[:dim], count, *parts[dim + 1 :])
