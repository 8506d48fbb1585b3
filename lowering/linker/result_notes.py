"""The addresses of each task's result, from the `memory` level: notes in the executable for debugging tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from ...dialects.dataflow.tiling import Box, split_evenly
from ...dialects.dataflow.types import DTYPE_CODES, tensor_of
from ...dialects.manycore import ExecuteOp, LaunchOp, RepeatOp
from ...dialects.manycore.repeat import part_row, part_whole
from ...dialects.memory import Space
from ...dialects.memory.ops import buffer_of
from ...dialects.tensor_names import named_tensors
from ...emulator.executable.task_loop import Rows, TaskLoop
from ...emulator.executable.task_results import TaskResult
from ..launch.read_launch import address_of


def task_results(launches: Sequence[LaunchOp]) -> Iterator[TaskResult]:
    """
    The address and tiles of each task's result, launch by launch. Results whose tiles form no even grid are omitted.
    """
    for number, launch in enumerate(launches):
        for task in launch.tasks.values():
            if (found := _result(number, task)) is not None:
                yield found


def _result(launch: int, task: ExecuteOp) -> TaskResult | None:
    """The result of a task of the launch with this number; None if it is omitted (see `task_results`)."""
    target = part_whole(task.target)
    whole, loop = buffer_of(target), _loop(task)
    result = tensor_of(task.ops[-1].results[0])
    shape: tuple[int, ...] = whole.shape if target is not task.target else result.get_shape()
    grid: tuple[int, ...] | None = None
    cores: tuple[int, ...] = ()
    if whole.space is Space.SRAM:
        tiles = _tiles(task, result.get_shape())
        if tiles is None:
            return None
        grid, cores = tiles
        if loop is not None and loop.rows is not None:
            shape, grid = (loop.rows.count, *result.get_shape()), (1, *grid)
    tensors = {
        name: tuple(type.get_shape())
        for name, type in named_tensors(task).items()
        if type.element_type == result.element_type and math.prod(type.get_shape()) == math.prod(shape)
    }
    return TaskResult(
        launch, task.sym_name.data, DTYPE_CODES[result.element_type], tuple(shape), address_of(target), grid, cores,
        tensors, loop,
    )  # fmt: skip


def _loop(task: ExecuteOp) -> TaskLoop | None:
    """The loop around a task."""
    loop = task.parent_op()
    if not isinstance(loop, RepeatOp):
        return None
    row = part_row(task.target)
    rows = None if row is None else Rows(row.rows, row.first, row.advance)
    return TaskLoop(loop.step_count, loop.has_dynamic_steps, loop.group_size, rows)


def _tiles(task: ExecuteOp, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The grid of a result's tiles, and the core of each in row-major order; None if they form no even grid."""
    root = task.ops[0]
    tiles = task.tiling.data.tile_boxes([one.size for one in root.iteration_space()])
    boxes = {core: root.result_box(tile) for core, tile in tiles.items() if tile.volume}
    core_of = {(box.offsets, box.sizes): core for core, box in boxes.items()}
    if len(core_of) != len(boxes) or any(box.rank != len(shape) for box in boxes.values()):
        return None
    ranges_of = [_ranges(list(boxes.values()), dim) for dim in range(len(shape))]
    grid = tuple(max(1, len(ranges)) for ranges in ranges_of)
    if not boxes:
        return grid, (task.tiling.cores[0],)
    if any(ranges != split_evenly(size, count) for ranges, size, count in zip(ranges_of, shape, grid, strict=True)):
        return None
    wanted = [tuple(zip(*ranges, strict=True)) or ((), ()) for ranges in product(*ranges_of)]
    if len(wanted) != len(core_of) or any(box not in core_of for box in wanted):
        return None
    return grid, tuple(core_of[offsets, sizes] for offsets, sizes in wanted)


def _ranges(boxes: Sequence[Box], dim: int) -> list[tuple[int, int]]:
    """The distinct (offset, size) of boxes along a dimension, ascending."""
    return sorted({(box.offsets[dim], box.sizes[dim]) for box in boxes})
