"""
Grids of the tasks of loops. A carried value must be where the next step expects it, so the tasks that write it have the
same tiling, whatever is best for each of them: a few numbers of cores are tried for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.manycore import Tiling
from ..tasks.task_info import TaskInfo
from .loops import LoopSpan, memory_root
from .plan_task import PlaceTiles
from .tiling_search import grid_candidates


@dataclass(frozen=True)
class LoopGrids:
    """Constraints on the plans of tasks, by their numbers."""

    tilings: dict[int, Tiling]
    """Tilings of tasks that compute the initial value of a carried one."""
    grids: dict[int, tuple[int, ...]]
    """Of tasks in loops, and of those that compute what loops scan."""


def loop_grids(tasks: Sequence[TaskInfo], spans: Sequence[LoopSpan], chip: Chip, place: PlaceTiles) -> list[LoopGrids]:
    """
    The constraints to try, for each number of cores: the same tiling for tasks that write carried values, and for all
    tasks of loops if possible.
    """
    numbers = {info.result: number for number, info in enumerate(tasks)}
    pairs = list(_carried(spans, numbers))
    begins = {begin: list(grid_candidates(tasks[begin], chip)) for begin, _ in pairs}
    counts = sorted({prod(grid) for found in begins.values() for grid in found}, reverse=True)
    made: list[LoopGrids] = []
    for count in counts:
        tilings: dict[int, Tiling] = {}
        grids: dict[int, tuple[int, ...]] = {}
        for begin, again in pairs:
            grid = max((one for one in begins[begin] if prod(one) <= count), key=lambda one: (prod(one), one[::-1]))
            rank = len(grid)
            tilings[begin] = Tiling(grid, place(tasks[begin], grid), (1,) * rank, tuple(range(rank)))
            grids[again] = _with_reductions(tasks[again], grid)
        for everywhere in (True, False):
            rest = {} if not everywhere else _scanned(tasks, spans, count, chip) | _alike(tasks, spans, count, chip)
            found = LoopGrids(tilings, {**rest, **grids})
            if found not in made:
                made.append(found)
    return made


def _carried(spans: Sequence[LoopSpan], numbers: dict[SSAValue, int]) -> Iterator[tuple[int, int]]:
    """The tasks that compute the initial value of a carried one, and those that compute it for the next step."""
    for span in spans:
        for first, value in zip(span.op.initial, span.op.yielded, strict=False):
            root = memory_root(first)
            if root in numbers and value in numbers:
                yield numbers[root], numbers[value]


def _with_reductions(info: TaskInfo, grid: Sequence[int]) -> tuple[int, ...]:
    """The grid of a task from the cut of its result."""
    left = iter(grid)
    return tuple(1 if dim in info.reductions else next(left, 1) for dim in range(len(info.space)))


def _alike(tasks: Sequence[TaskInfo], spans: Sequence[LoopSpan], count: int, chip: Chip) -> dict[int, tuple[int, ...]]:
    """Grids of so many cores for the tasks of loops, along the innermost dimension that can be cut so, or several."""
    found: dict[int, tuple[int, ...]] = {}
    for span in spans:
        for number in range(span.first, span.last + 1):
            cut = [grid for grid in grid_candidates(tasks[number], chip) if prod(grid) == count]
            if cut:
                found[number] = max(cut, key=lambda grid: (max(grid), grid[::-1]))
    return found


def _scanned(
    tasks: Sequence[TaskInfo], spans: Sequence[LoopSpan], count: int, chip: Chip
) -> dict[int, tuple[int, ...]]:
    """
    Grids of so many cores for the tasks that compute what loops scan: along the innermost dimension alone, so that each
    core has its part of every step.
    """
    numbers = {info.result: number for number, info in enumerate(tasks)}
    found: dict[int, tuple[int, ...]] = {}
    for number in {
        numbers[root] for span in spans for value in span.op.scanned if (root := memory_root(value)) in numbers
    }:
        inner = max((dim for dim in range(len(tasks[number].space)) if dim not in tasks[number].reductions), default=-1)
        cut = [grid for grid in grid_candidates(tasks[number], chip) if prod(grid) == count == grid[inner]]
        if cut:
            found[number] = cut[0]
    return found
