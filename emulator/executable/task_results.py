"""
The note of an executable with the memory locations of tasks' results, and the tensors of the network that they are, for
the inspection of memory during a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

from ...dialects.coreasm.encoding import TYPES
from ...support.errors import InputError
from .executable import Executable
from .task_loop import TaskLoop, loop_as_json, loop_from_json

NOTE = "results"
"""Key of the note in executables; its text is the result of `results_as_json`."""


@dataclass(frozen=True)
class Tile:
    """The part of a result in the SRAM of one core: a box, dense and row-major."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def index(self) -> tuple[slice, ...]:
        """The slices of the tile in the whole result."""
        return tuple(slice(low, low + size) for low, size in zip(self.offsets, self.sizes, strict=True))


@dataclass(frozen=True)
class TaskResult:
    """The location of the result of one task of a launch: in DRAM as a whole, or in SRAM as tiles."""

    launch: int
    task: str
    dtype: int
    """Type code."""
    shape: tuple[int, ...]
    address: int
    """Address in DRAM, or in the SRAM of each core that has a tile."""
    grid: tuple[int, ...] | None = None
    """For each dimension the number of parts, as equal as possible, into which the result is cut; None: in DRAM."""
    cores: tuple[int, ...] = ()
    """The cores of the tiles, in row-major order of the grid."""
    tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    """Names of the tensors of the network that are equal to the result, with their shapes."""
    loop: TaskLoop | None = None
    """The loop in which the task runs; None: it runs once."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return TYPES[self.dtype].bytes

    @property
    def nbytes(self) -> int:
        """Bytes of the whole result."""
        return math.prod(self.shape) * self.element_bytes

    def tiles(self) -> dict[int, Tile]:
        """The tile of each core, for results in SRAM; cores with an empty part are omitted."""
        if self.grid is None:
            return {}
        parts = [
            [(at * size // count, (at + 1) * size // count) for at in range(count)]
            for size, count in zip(self.shape, self.grid, strict=True)
        ]
        found: dict[int, Tile] = {}
        for core, ranges in zip(self.cores, product(*parts), strict=True):
            sizes = tuple(high - low for low, high in ranges)
            if math.prod(sizes):
                found[core] = Tile(tuple(low for low, _ in ranges), sizes)
        return found


def results_as_json(results: Sequence[TaskResult]) -> str:
    """
    The text of the note: `orders`, lists of cores that tasks share, and `results`, for each task [launch, name, type
    code, shape, address, grid or null, number of the list of cores, loop or null, tensors].
    """
    orders: dict[tuple[int, ...], int] = {}
    entries: list[object] = []
    for one in results:
        order = orders.setdefault(one.cores, len(orders))
        entries.append(
            [
                one.launch, one.task, one.dtype, one.shape, one.address, one.grid, order,
                loop_as_json(one.loop), dict(one.tensors),
            ]
        )  # fmt: skip
    note = {"orders": list(orders), "results": entries}
    return json.dumps(note, ensure_ascii=False, separators=(",", ":"))


def task_results(exe: Executable) -> list[TaskResult]:
    """
    The results of the tasks of an executable, in the order of the launches and of the tasks in each.

    Raises InputError if the executable has no note of them, or an invalid one.
    """
    if NOTE not in exe.notes:
        raise InputError("the executable has no record of where tensors are in memory: compile the network again")
    try:
        found = list(_read(json.loads(exe.notes[NOTE])))
        if all(_is_possible(one, exe) for one in found):
            return found
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        pass
    raise InputError(f"note '{NOTE}' of the executable, where tensors are in its memory, is damaged")


def _read(note: Any) -> Iterator[TaskResult]:
    lists = cast("list[object]", note["orders"])
    orders: list[tuple[int, ...]] = [tuple(_integers(order)) for order in lists]
    for launch, task, dtype, shape, address, grid, order, loop, tensors in note["results"]:
        named = {str(name): tuple(_integers(own)) for name, own in cast("dict[str, Any]", tensors).items()}
        yield TaskResult(
            int(launch), str(task), int(dtype), tuple(_integers(shape)), int(address),
            None if grid is None else tuple(_integers(grid)), orders[int(order)], named, loop_from_json(loop),
        )  # fmt: skip


def _integers(values: Any) -> list[int]:
    return [int(value) for value in values]


def _is_possible(one: TaskResult, exe: Executable) -> bool:
    """Whether a result is within memory, with a tile on each of its cores."""
    if not 0 <= one.launch < len(exe.launches) or one.dtype not in range(len(TYPES)) or min(one.shape, default=0) < 0:
        return False
    if any(math.prod(shape) != math.prod(one.shape) or min(shape, default=0) < 0 for shape in one.tensors.values()):
        return False
    if one.loop is not None and not one.loop.is_possible:
        return False
    rows = 1 if one.loop is None or one.loop.rows is None else one.loop.rows.count
    if one.grid is None:
        return not one.nbytes % rows and 0 <= one.address and one.address + one.nbytes <= exe.dram_bytes_used
    if len(one.grid) != len(one.shape) or min(one.grid, default=1) < 1 or math.prod(one.grid) != len(one.cores):
        return False
    if len(set(one.cores)) != len(one.cores) or not all(0 <= core < exe.chip.cores for core in one.cores):
        return False
    if any(math.prod(tile.sizes) % rows for tile in one.tiles().values()):
        return False
    largest = max((math.prod(tile.sizes) for tile in one.tiles().values()), default=0) * one.element_bytes
    return 0 <= one.address and one.address + largest <= exe.chip.sram_bytes
