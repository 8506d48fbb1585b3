"""Results that stay in the cores: the sources that readers read, and the shapes in which they read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue

from ...dialects.dataflow import ConstantOp, LoopOp, WeightOp
from ...dialects.dataflow.types import shape_of
from ..tasks.task_info import TaskInfo
from .loops import held_as, memory_root, part_of, spans_of, written_part
from .plan_task import Readable
from .storage import Distribution
from .task_plan import Source, TaskPlan


def in_cores(
    tasks: Sequence[TaskInfo], plans: Sequence[TaskPlan], last_use: dict[SSAValue, int]
) -> dict[SSAValue, TaskPlan]:
    """Results that are in the cores when the task after those with `plans` begins -> their plans."""
    return {
        held_as(info.result): plan
        for info, plan in zip(tasks, plans, strict=False)
        if plan.resident and last_use[held_as(info.result)] >= len(plans)
    }


def shapes_read(tasks: tuple[TaskInfo, ...]) -> dict[SSAValue, set[tuple[int, ...]]]:
    """Storage root -> the shapes in which tasks read it."""
    found: dict[SSAValue, set[tuple[int, ...]]] = {}
    for info in tasks:
        for value in info.operands:
            found.setdefault(memory_root(value), set()).add(shape_of(value))
    for span in spans_of(tasks):
        for value in (*span.op.scanned, *span.numbers):
            found.setdefault(memory_root(value), set()).add(shape_of(value))
    return found


def readable_as(info: TaskInfo, shapes: set[tuple[int, ...]]) -> Readable:
    """Whether a task's result can be read in these shapes from its present tiles."""
    own = _held_shape(info.result)
    others = shapes - {own}

    def readable(held: Callable[[], Distribution]) -> bool:
        if not others:
            return True
        distribution = _held(info.result, held())
        return all(distribution.reshaped(own, shape) is not None for shape in others)

    return readable


def _held(result: SSAValue, distribution: Distribution) -> Distribution:
    """The distribution of the value whose memory holds a task's result, in the shape that `_held_shape` returns."""
    part = written_part(result)
    return distribution if part is None else distribution.stacked(part.rows)


def _held_shape(result: SSAValue) -> tuple[int, ...]:
    part = written_part(result)
    return shape_of(result) if part is None else (part.rows, *shape_of(result))


def dram_reason(info: TaskInfo, in_dram: bool, read_as: set[tuple[int, ...]]) -> str | None:
    """The reason why the result of a tiled task cannot stay in the cores, or None. `in_dram`: readers need it there."""
    if in_dram:
        return "it is a result of the function or read by index"
    if not read_as:
        return "no task reads it"
    own = _held_shape(info.result)
    if read_as == {own}:
        return None
    tiles = info.op.tiling.data.tile_boxes(info.sizes)
    held = Distribution({core: info.root.result_box(tile) for core, tile in tiles.items()}, 0)
    held = _held(info.result, held)
    for shape in sorted(read_as):
        if held.reshaped(own, shape) is None:
            return f"it is read in shape {list(shape)}, in which its tiles are not contiguous"
    return None


def source_of(value: SSAValue, resident: Mapping[SSAValue, TaskPlan]) -> Source:
    """The source of a value, given the plans of the tasks whose results are in the cores."""
    root = memory_root(value)
    part = part_of(root)
    if part is not None and part.whole in resident:
        whole = shape_of(part.whole)
        held = _spread(part.whole, resident[part.whole])
        return Source(None if held is None else held.row(whole, part.rows, shape_of(value)), False)
    if root not in resident:
        return Source(None, isinstance(root.owner, ConstantOp | WeightOp))
    held = _spread(root, resident[root])
    return Source(None if held is None else held.reshaped(shape_of(root), shape_of(value)), False)


def _spread(root: SSAValue, plan: TaskPlan) -> Distribution | None:
    """The distribution of a value, given the plan of the task that computes it, or a part of it in each step."""
    loop = root.owner
    if not isinstance(loop, LoopOp) or root not in loop.stacked:
        return plan.distribution
    result = next(one for one, whole in zip(loop.yielded, loop.results, strict=True) if whole is root)
    return _held(result, plan.distribution).reshaped(_held_shape(result), shape_of(root))
