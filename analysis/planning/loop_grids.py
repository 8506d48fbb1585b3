"""
Grids of the tasks of loops. A carried value must be in the cores that read it in the next step, so all tasks that write
it have the same tiling, even if another one is better for a single task: a few numbers of cores are tried for all. The
number of cores need not divide the size: a state of 97 elements is distributed over 14 cores, 7 or 6 elements on each.
Values with several entries for each element, such as the 4 x 97 columns of the gates of an LSTM, are cut at the same
elements (`multiples`), so that each core holds its part of the result of the task before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import SSAValue

from ...chips import Chip
from ...dialects.dataflow.tiling import DimKind
from ...dialects.manycore import Grid, Tiling
from ..tasks.task_info import TaskInfo
from .loops import LoopSpan, memory_root, part_of, spans_of
from .plan_task import PlaceTiles
from .tiling_search import grid_candidates


@dataclass(frozen=True)
class LoopGrids:
    """Constraints on the plans of tasks, by their numbers."""

    tilings: dict[int, Tiling]
    """Tilings of tasks that compute the initial value of a carried one."""
    grids: dict[int, Grid]
    """Grids of tasks in loops, and of tasks that compute scanned values."""
    cores: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """The cores for the tasks of a chain with separate cores, and for those that compute its operands."""


def first_of(cores: tuple[int, ...], otherwise: PlaceTiles) -> PlaceTiles:
    """Place tiles on the first of these cores; if there are more tiles than cores, place them by `otherwise`."""
    return lambda info, grid: cores[: prod(grid)] if prod(grid) <= len(cores) else otherwise(info, grid)


@dataclass(frozen=True)
class _Chain:
    """Tasks of a loop that do not depend on its other tasks."""

    tasks: frozenset[int]
    """Numbers of the tasks in the loop."""
    before: frozenset[int]
    """
    Tasks before the loop that compute the initial values of the chain's carried values, and the values that only this
    chain scans.
    """


def loop_grids(tasks: Sequence[TaskInfo], spans: Sequence[LoopSpan], chip: Chip, place: PlaceTiles) -> list[LoopGrids]:
    """
    The constraints to try, for each number of cores: the same tiling for tasks that write carried values, and for all
    tasks of loops if possible. If the steps of loops consist of independent chains of tasks, such as the two directions
    of a layer, also each chain of a loop on separate cores. One without constraints if loops carry no values.
    """
    numbers = {info.result: number for number, info in enumerate(tasks)}
    pairs = list(_carried(spans, numbers))
    chains = [_chains(tasks, span, numbers) for span in spans]
    most = max(map(len, chains))
    usable = place(tasks[0], (len(chip.usable_cores),))
    begins = {begin: _with_innermost(tasks[begin], chip) for begin, _ in pairs}
    counts = sorted({prod(grid) for found in begins.values() for grid in found}, reverse=True)
    made: list[LoopGrids] = []
    for count in counts:
        tilings: dict[int, Tiling] = {}
        grids: dict[int, Grid] = {}
        states: set[tuple[int, int]] = set()
        for begin, again in pairs:
            grid = _of_cores(begins[begin], count)
            rank = len(grid)
            tilings[begin] = Tiling(grid, place(tasks[begin], grid), (1,) * rank, tuple(range(rank)))
            grids[again] = _with_reductions(tasks[again], grid)
            if grid and grid[-1] > 1:
                states.add((tasks[begin].sizes[-1], grid[-1]))
        for everywhere in (True, False):
            rest = {} if not everywhere else _alike(tasks, spans, count, states, chip)
            found = LoopGrids(tilings, {**rest, **grids})
            variants = [found]
            if everywhere and 1 < most and most * count <= len(usable):
                variants.append(_apart(found, chains, count, usable))
            made += [one for one in variants if one not in made]
    return made or [LoopGrids({}, {})]


def _apart(found: LoopGrids, loops: Sequence[Sequence[_Chain]], count: int, usable: tuple[int, ...]) -> LoopGrids:
    """The same grids, of `count` cores, with each chain of a loop on separate cores."""
    cores: dict[int, tuple[int, ...]] = {}
    for chains in loops:
        for number, chain in enumerate(chains):
            own = usable[number * count : (number + 1) * count]
            cores.update(dict.fromkeys(chain.tasks | chain.before, own))
    tilings = {
        task: replace(tiling, cores=cores[task][: len(tiling.cores)]) if task in cores else tiling
        for task, tiling in found.tilings.items()
    }
    return LoopGrids(tilings, found.grids, cores)


def _chains(tasks: Sequence[TaskInfo], span: LoopSpan, numbers: dict[SSAValue, int]) -> list[_Chain]:
    """The parts of a loop's tasks that read no results of other parts, neither of this step nor of the previous one."""
    loop = range(span.first, span.last + 1)
    reads = {number: {memory_root(value) for value in tasks[number].operands} for number in loop}
    writers: dict[SSAValue, set[int]] = {}
    for number in loop:
        writers.setdefault(memory_root(tasks[number].result), set()).add(number)
    chain_of: dict[int, set[int]] = {number: {number} for number in loop}
    for number in loop:
        for other in chain_of[number].union(*(writers.get(root, ()) for root in reads[number])):
            if chain_of[other] is not chain_of[number]:
                chain_of[number] |= chain_of[other]
                chain_of.update(dict.fromkeys(chain_of[other], chain_of[number]))
    chains = list({id(chain): chain for chain in chain_of.values()}.values())
    outside = [_computed_before(chain, reads, numbers, span) for chain in chains]
    return [
        _Chain(frozenset(chain), frozenset(own - set().union(*(other for other in outside if other is not own))))
        for chain, own in zip(chains, outside, strict=True)
    ]


def _computed_before(
    chain: set[int], reads: Mapping[int, set[SSAValue]], numbers: Mapping[SSAValue, int], span: LoopSpan
) -> set[int]:
    """The tasks before a loop whose results, or rows of them, a chain reads."""
    roots = {root for number in chain for root in reads[number]}
    roots |= {part.whole for root in roots if (part := part_of(root)) is not None}
    return {numbers[root] for root in roots if numbers.get(root, span.first) < span.first}


def spread_tilings(tasks: Sequence[TaskInfo], place: PlaceTiles) -> dict[int, Tiling]:
    """Tilings, by number, of tasks that give every core its own copy of a loop's number of steps: one tile per core."""
    numbers = {info.result: number for number, info in enumerate(tasks)}
    found: dict[int, Tiling] = {}
    for value in (value for span in spans_of(tasks) for value in span.numbers):
        if (number := numbers.get(value)) is not None and len(tasks[number].sizes) == 1:
            grid = tuple(tasks[number].sizes)
            found[number] = Tiling(grid, place(tasks[number], grid), (1,), (0,))
    return found


def _with_innermost(info: TaskInfo, chip: Chip) -> list[tuple[int, ...]]:
    """
    Candidates for a carried value, and grids along the innermost dimension: for the number of cores of each candidate
    (or the smallest number with which no core has a larger part), and for the largest number of cores with equal parts.
    """
    found = list(grid_candidates(info, chip))
    if info.reductions or not info.sizes:
        return found
    size, cores = info.sizes[-1], len(chip.usable_cores)
    counts = {_fewest_alike(size, min(count, size)) for count in {cores, *map(prod, found)}}
    counts.add(max(count for count in range(1, min(size, cores) + 1) if size % count == 0))
    rest = (1,) * (len(info.sizes) - 1)
    return list(dict.fromkeys([*found, *((*rest, count) for count in sorted(counts))]))


def _fewest_alike(size: int, parts: int) -> int:
    """The smallest number of parts of a size, none of which is larger than the largest of `parts` even parts."""
    return -(-size // -(-size // parts))


def _of_cores(grids: Sequence[tuple[int, ...]], count: int) -> tuple[int, ...]:
    """The grid of the most cores, `count` at most; if there are several, the one along the innermost dimension."""
    return max((one for one in grids if prod(one) <= count), key=lambda one: (prod(one), one[::-1]))


def _carried(spans: Sequence[LoopSpan], numbers: dict[SSAValue, int]) -> Iterator[tuple[int, int]]:
    """
    Pairs of the task that computes the initial value of a carried value, and the one that computes the next value.
    """
    for span in spans:
        for first, value in zip(span.op.initial, span.op.yielded, strict=False):
            root = memory_root(first)
            if root in numbers and value in numbers:
                yield numbers[root], numbers[value]


def _with_reductions(info: TaskInfo, grid: Sequence[int]) -> Grid:
    """The grid of a task, given the grid of its result."""
    left = iter(grid)
    return Grid(tuple(1 if dim in info.reductions else next(left, 1) for dim in range(len(info.space))))


def _alike(
    tasks: Sequence[TaskInfo], spans: Sequence[LoopSpan], count: int, states: set[tuple[int, int]], chip: Chip
) -> dict[int, Grid]:
    """
    Grids of `count` cores for the tasks of loops, and for those that compute scanned values: with cuts at the elements
    at which `states` are cut, (size, number of cores); otherwise along the innermost dimension that divides evenly
    among the cores, or along the innermost dimension that can be cut into `count` parts, or along several dimensions.
    Scanned values are cut along their innermost dimension only, so that each core has its part of every step.
    """
    numbers = {info.result: number for number, info in enumerate(tasks)}
    roots = {memory_root(value) for span in spans for value in span.op.scanned}
    found: dict[int, Grid] = {}
    for number in (numbers[root] for root in roots if root in numbers):
        info = tasks[number]
        inner = max((dim for dim in range(len(info.space)) if dim not in info.reductions), default=-1)
        grid = _as_states(info, states, inner) or _even_grid(info, count)
        cut = (Grid(one) for one in grid_candidates(info, chip) if prod(one) == count == one[inner])
        if grid is None or grid.parts[inner] == 1:
            grid = next(cut, None)
        if grid is not None:
            found[number] = grid
    for span in spans:
        for number in range(span.first, span.last + 1):
            grid = _as_states(tasks[number], states) or _even_grid(tasks[number], count)
            if grid is None:
                cut = [one for one in grid_candidates(tasks[number], chip) if prod(one) == count]
                grid = Grid(max(cut, key=lambda one: (max(one, default=1), one[::-1]))) if cut else None
            if grid is not None:
                found[number] = grid
    return found


def _as_states(info: TaskInfo, states: set[tuple[int, int]], only: int | None = None) -> Grid | None:
    """
    The grid along the innermost dimension (or dimension `only`) whose size is that of a state, or a multiple, cut at
    the same elements as the state. None if there is no such dimension.
    """
    for dim in range(len(info.sizes) - 1, -1, -1) if only is None else (only,):
        for size, parts in sorted(states, reverse=True):
            each, rest = divmod(info.sizes[dim], size)
            if info.space[dim].kind is DimKind.PARALLEL and each and not rest and info.root.may_split(dim, parts):
                ones = (1,) * len(info.sizes)
                multiples = () if each == 1 or size % parts == 0 else (*ones[:dim], each, *ones[dim + 1 :])
                return Grid((*ones[:dim], parts, *ones[dim + 1 :]), multiples)
    return None


def _even_grid(info: TaskInfo, count: int) -> Grid | None:
    """The grid of `count` cores along the innermost dimension that divides evenly among them; None if there is none."""
    for dim in range(len(info.sizes) - 1, -1, -1):
        if info.space[dim].kind is DimKind.PARALLEL and info.sizes[dim] and info.sizes[dim] % count == 0:
            return Grid(tuple(count if one == dim else 1 for one in range(len(info.sizes))))
    return None
