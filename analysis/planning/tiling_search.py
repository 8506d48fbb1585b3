"""Candidates for the tiling of one task: grids over the cores, and the steps that make a tile fit in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...chips import Chip
from ...dialects.dataflow.tiling import DimKind, IterDim
from ..tasks.task_info import TaskInfo

_CUTTABLE = (DimKind.PARALLEL, DimKind.WINDOW)
MAX_GRID_DIMS = 3
"""Largest number of dimensions that are cut over the cores at once."""


def grid_candidates(info: TaskInfo, chip: Chip) -> Iterator[tuple[int, ...]]:
    """
    Grids worth trying: products of divisors and powers of two over up to three dimensions of the iteration space.

    Only grids that use at least a quarter of the cores (if the space has that many tiles) or a single core are yielded.
    Grids that cut inside indivisible units (`TilingInterface.may_split`) are left out.
    """
    cores = len(chip.usable_cores)
    dims = [dim for dim, kind in enumerate(info.space) if kind.kind in _CUTTABLE and kind.size > 1]
    dims.sort(key=lambda dim: info.root.preferred_dims().index(dim) if dim in info.root.preferred_dims() else 99)
    dims = dims[:4]
    ones = [1] * len(info.space)
    yield tuple(ones)
    options = {dim: _parts(info, dim, cores) for dim in dims}
    reachable = min(cores, math.prod(max(options[dim]) for dim in dims)) if dims else 1

    def extend(position: int, grid: list[int], used: int, cut: int) -> Iterator[tuple[int, ...]]:
        if position == len(dims):
            if used > 1 and used * 4 >= reachable:
                yield tuple(grid)
            return
        dim = dims[position]
        for parts in options[dim]:
            if used * parts > cores or (parts > 1 and cut == MAX_GRID_DIMS):
                break
            grid[dim] = parts
            yield from extend(position + 1, grid, used * parts, cut + (parts > 1))
        grid[dim] = 1

    yield from extend(0, list(ones), 1, 0)


def _parts(info: TaskInfo, dim: int, cores: int) -> list[int]:
    limit = min(cores, info.sizes[dim])
    counts = {count for count in range(1, limit + 1) if cores % count == 0}
    counts |= {1 << bit for bit in range(limit.bit_length()) if 1 << bit <= limit}
    if info.sizes[dim] <= cores:
        counts.add(info.sizes[dim])
    return sorted(count for count in counts if info.root.may_split(dim, count))


def finer_steps(info: TaskInfo, tile: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """`steps` with one dimension cut finer (about twice), for every dimension where a tile of these sizes allows it."""
    return filter(None, (_finer(info, tile, steps, dim) for dim in range(len(steps))))


def much_finer_steps(info: TaskInfo, tile: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """As `finer_steps`, but about four times as fine."""
    for dim in range(len(steps)):
        once = _finer(info, tile, steps, dim)
        if once and (twice := _finer(info, tile, once, dim)):
            yield twice


def _finer(info: TaskInfo, tile: tuple[int, ...], steps: tuple[int, ...], dim: int) -> tuple[int, ...] | None:
    if not _may_step(info, dim, info.space[dim]) or steps[dim] >= tile[dim]:
        return None
    count = _without_empty(tile[dim], min(steps[dim] * 2, tile[dim]))
    while count <= tile[dim] and not info.root.may_split(dim, _total(info, tile, dim, count)):
        count += 1
    return (*steps[:dim], count, *steps[dim + 1 :]) if count <= tile[dim] else None


def coarser_steps(info: TaskInfo, tile: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """`steps` with one dimension cut about half as fine, for every dimension that is cut."""
    for dim, count in enumerate(steps):
        fewer = _without_empty(tile[dim], -(-count // 2))
        if fewer < count and info.root.may_split(dim, _total(info, tile, dim, fewer)):
            yield (*steps[:dim], fewer, *steps[dim + 1 :])


def _without_empty(size: int, count: int) -> int:
    """The number of non-empty steps if `size` is cut into `count` blocks of equal size."""
    return math.ceil(size / math.ceil(size / count)) if size else 1


def _total(info: TaskInfo, tile: tuple[int, ...], dim: int, count: int) -> int:
    return math.ceil(info.sizes[dim] / tile[dim]) * count


def _may_step(info: TaskInfo, dim: int, kind: IterDim) -> bool:
    if kind.kind is DimKind.REDUCTION:
        return info.root.combine is not None
    return kind.kind in _CUTTABLE
