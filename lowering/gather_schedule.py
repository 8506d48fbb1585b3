"""When the parts of a gathered value come: each before the first step that needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.planning.plan_task import TaskPlan
from ..analysis.planning.reads import MOST_PARTS, ReadPlan, gather_parts
from ..analysis.task_info import TaskInfo
from ..dialects.dataflow.tiling import Box


def gather_schedule(
    read: ReadPlan, info: TaskInfo, plan: TaskPlan, steps: Mapping[int, Sequence[Box]]
) -> dict[int, dict[int, Box]]:
    """
    Step -> core -> the box that comes before that step; the boxes of a core are disjoint and make up its slice.

    `steps`: core -> box of each step. Boxes differ along the value's outermost axis alone, so that in memory none lies
    between the parts of another.
    """
    axis = read.outer_axis
    whole = {core: piece.bounds for core, piece in read.whole.items() if piece.box.volume}
    if axis is None or gather_parts(read, info, plan.tiling) == 1:
        return {0: whole}
    reaches = {core: _reaches(read, info, steps[core], axis, bounds) for core, bounds in whole.items()}
    growing = sorted(
        {step for own in reaches.values() for step in range(len(own)) if not step or own[step] > own[step - 1]}
    )
    begins = growing[:: -(-len(growing) // MOST_PARTS)]
    found: dict[int, dict[int, Box]] = {}
    for first, following in zip(begins, [*begins[1:], plan.tiling.step_count], strict=True):
        for core, bounds in whole.items():
            low = reaches[core][first - 1] if first else bounds.offsets[axis]
            if (reach := reaches[core][following - 1]) > low:
                found.setdefault(first, {})[core] = _cut(bounds, axis, low, reach)
    return found


def _reaches(read: ReadPlan, info: TaskInfo, steps: Sequence[Box], axis: int, whole: Box) -> list[int]:
    """By step, how far along an axis a core has read by then; after the last, everything has come."""
    reach, found = whole.offsets[axis], list[int]()
    for box in steps:
        piece = info.read_slice(read.read, box) if box.volume else None
        if piece is not None and piece.box.volume:
            reach = max(reach, piece.bounds.ends[axis])
        found.append(reach)
    found[-1] = whole.ends[axis]
    return found


def _cut(box: Box, axis: int, low: int, high: int) -> Box:
    """The part of a box between two positions of an axis."""
    offsets = (*box.offsets[:axis], low, *box.offsets[axis + 1 :])
    return Box(offsets, (*box.sizes[:axis], high - low, *box.sizes[axis + 1 :]))
